/// Takes out of a transcript's lines what is another thing in each run, and puts it into commands again. Equal IDs have
/// equal names, which are numbered in the order in which they came.
struct LastingText {
    private var names: [String: String] = [:]
    private var values: [String: String] = [:]
    private var counts: [String: Int] = [:]

    /// The line as it is in each run.
    mutating func lasting(_ line: String) -> String {
        // A session, and the epoch of a room, which is the beginning of all IDs of its messages.
        if let match = line.firstMatch(
            of: #/^\{"id":[0-9]+,"connect":\{"session":"([^"]+)"|^1:[0-9]+ 10:\{1:"([^"]+)"/#)
        {
            if let session = match.output.1 ?? match.output.2 { _ = name("session", session) }
        }
        if let match = line.firstMatch(of: #/"epoch":"([0-9a-z]+)"|^1:[0-9]+ 13:\{.*?\} 3:"([0-9a-z]+)"/#) {
            if let epoch = match.output.1 ?? match.output.2 { _ = name("epoch", epoch) }
        }
        var text = line
        // A user without an account.
        text.replace(#/anon-[0-9a-f]{16}/#) { name("user", $0.output) }
        // IDs of messages that are not kept hold times and places in the log, or are random; cursors hold times.
        text.replace(#/[0-9a-z]+(?:_[a-z][0-9a-z]{7}\.[0-9a-z]+|~[0-9a-z.]+)/#) { name("unkept", $0.output) }
        text.replace(#/"(x[0-9a-z]{15,26})"/#) { "\"" + name("unkept", $0.output.1) + "\"" }
        text.replace(#/"([a-z][0-9a-z]{7}\.[0-9a-z]+)"/#) { "\"" + name("cursor", $0.output.1) + "\"" }
        for (value, name) in names where name.hasPrefix("<session") || name.hasPrefix("<epoch") {
            text.replace("\"\(value)\"", with: "\"\(name)\"")
            text.replace("\"\(value)-", with: "\"\(name)-")
            text.replace(" \(value)-", with: " \(name)-")
        }
        // A time of now, in milliseconds.
        text.replace(#/\b[12][0-9]{12}\b/#, with: "<time>")
        // The rest of 30 days, the longest time that anything can be given for.
        text.replace(#/\b(?:2592000|2591[0-9]{3})\b/#, with: "<seconds>")
        text.replace(#/\b(?:2592000|2591[0-9]{3})[0-9]{3}\b/#, with: "<milliseconds>")
        text.replace(#/"expiresInSeconds":[0-9]+/#, with: #""expiresInSeconds":<seconds>"#)
        text.replace(#/wss?://127\.0\.0\.1:[0-9]+/#, with: "<node>")
        text.replace(#/x{100,}/#) { "<x*\($0.output.count)>" }
        return text
    }

    private mutating func name(_ kind: String, _ value: Substring) -> String {
        if let name = names[String(value)] { return name }
        counts[kind, default: 0] += 1
        let name = "<\(kind) \(counts[kind, default: 0])>"
        names[String(value)] = name
        values[name] = String(value)
        return name
    }

    /// A command with the values of its names, with tokens, and with long texts at their length.
    func restored(_ command: String, token: (_ user: String, _ rooms: [String]?, _ seconds: Int) throws -> String)
        throws
        -> String
    {
        var text = command.replacing("<newline>", with: "\n")
        for (name, value) in values { text.replace(name, with: value) }
        text.replace(#/<x\*([0-9]+)>/#) { String(repeating: "x", count: Int($0.output.1) ?? 0) }
        return try text.replacing(#/<token ([a-z]+)(?: for ([a-z]+))?(?: of (-?[0-9]+) s)?>/#) { match in
            let (_, user, room, seconds) = match.output
            return try token(String(user), room.map { [String($0)] }, seconds.flatMap { Int($0) } ?? 600)
        }
    }
}
