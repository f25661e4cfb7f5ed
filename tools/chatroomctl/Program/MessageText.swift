import ChatModel
import ControlClient

/// Messages for people: one line each.
enum MessageText {
    static func lines(_ messages: [JSONTree]) -> [String] { messages.map(line) }

    /// `14:03:07  #813  ann (Ann)  hello`; with its date when that is not today's.
    static func line(_ message: JSONTree) -> String {
        let time = message["time"]?.integer.map { TimeText.short($0) } ?? "--:--:--"
        let place = message["seq"]?.integer.map { "#\($0)" } ?? "-"
        let cells = [time, DisplayText.padded(place, columns: 6), DisplayText.safe(sender(message))]
        return (cells + [DisplayText.safe(content(message))]).joined(separator: "  ")
    }

    static func facts(_ message: JSONTree) -> [String] {
        let list = { (name: String) in message[name]?.items.map(\.shown).joined(separator: ", ") ?? "" }
        return Table.facts([
            ("message", message["messageId"]?.shown ?? ""), ("room", message["room"]?.shown ?? ""),
            ("seq", message["seq"]?.shown ?? ""), ("time", message["time"]?.integer.map(TimeText.full) ?? ""),
            ("from", sender(message)), ("role", message["from"]?["role"]?.shown ?? ""),
            ("type", message["type"]?.shown ?? ""), ("priority", message["priority"]?.shown ?? ""),
            ("mentions", list("mentions")), ("ext", message["ext"]?.shown ?? ""), ("content", content(message)),
            ("reply to", reply(message)), ("edited", message["editedAt"]?.integer.map(TimeText.full) ?? ""),
        ])
    }

    /// `813 ann (Ann): hello`
    private static func reply(_ message: JSONTree) -> String {
        guard let original = message["replyTo"] else { return "" }
        let who = original["user"] == nil ? "system" : name(original)
        return "\(original["messageId"]?.shown ?? "") \(who): \(original["excerpt"]?.text ?? "")"
    }

    private static func sender(_ message: JSONTree) -> String {
        guard let from = message["from"] else { return "system" }
        return name(from)
    }

    private static func name(_ user: JSONTree) -> String {
        let id = user["user"]?.text ?? "?"
        guard let nick = user["nick"]?.text, !nick.isEmpty, nick != id else { return id }
        return "\(id) (\(nick))"
    }

    private static func content(_ message: JSONTree) -> String {
        if message["recalled"]?.boolean == true { return "(recalled)" }
        let type = message["type"]?.text ?? ""
        switch MessageType(rawValue: type) {
        case .text, .tip: return message["text"]?.text ?? ""
        case .command: return "[COMMAND] \(message["payload"]?.text ?? "")"
        case .image, .audio, .video, .file:
            return "[\(type)] \(message["media"]?["name"]?.text ?? "") \(message["media"]?["url"]?.text ?? "")"
        case .location:
            let place = [message["latitude"], message["longitude"]].compactMap { $0?.shown }.joined(separator: ", ")
            return "[LOCATION] \(message["title"]?.text ?? "") \(place)"
        case .custom: return "[CUSTOM \(message["subtype"]?.shown ?? "")] \(message["content"]?.text ?? "")"
        case .combine: return "[COMBINE] \(message["title"]?.text ?? "")"
        case .notification: return notification(message)
        case .unknown, nil: return "[\(type)] \(message.line)"
        }
    }

    /// `* kicked ann (Ann) by bob`
    private static func notification(_ message: JSONTree) -> String {
        let code = message["event"]?.integer ?? 0
        var text = "* \(event(code))"
        let targets = message["targets"]?.items ?? []
        if !targets.isEmpty { text += ": " + targets.map(name).joined(separator: ", ") }
        if let actor = message["operator"] { text += " by \(name(actor))" }
        if let ext = message["notifyExt"]?.text { text += " [\(ext)]" }
        return text
    }

    private static func event(_ number: Int64) -> String {
        guard let event = Int(exactly: number).flatMap(EventCode.init) else { return "event \(number)" }
        return switch event {
        case .enter: "entered"
        case .exit: "left"
        case .blacklisted: "blacklisted"
        case .unblacklisted: "taken off the blacklist"
        case .muted: "muted"
        case .unmuted: "unmuted"
        case .managerSet: "made a manager"
        case .managerRemoved: "no longer a manager"
        case .madeFixedMember: "made a fixed member"
        case .fixedMemberRemoved: "no longer a fixed member"
        case .roomClosed: "room closed"
        case .roomInfoUpdated: "room info updated"
        case .kicked: "kicked"
        case .temporarilyMuted: "muted for a time"
        case .temporaryMuteLifted: "temporary mute ended"
        case .memberUpdatedInfo: "updated own info"
        case .queueChanged: "queue changed"
        case .roomMuted: "room muted"
        case .roomUnmuted: "room unmuted"
        case .queueBatchChanged: "queue changed in several places"
        case .recalled: "message recalled"
        case .digest: "people entered and left"
        case .amended: "message amended"
        case .pinsChanged: "pinned messages changed"
        case .pollOpened: "poll opened"
        case .pollClosed: "poll closed"
        case .unknown: "event \(number)"
        }
    }
}
