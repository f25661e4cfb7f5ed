import FoundationEssentials

/// Brings rooms, members, blacklists, bans and messages of JSON lines to a cluster, in their order. Every call can be
/// repeated, so that a call whose answer was lost does nothing twice.
package struct Importer {
    /// The work that is done.
    package struct Figures: Sendable, Hashable {
        package var rooms: Int64 = 0
        package var members: Int64 = 0
        package var imported: Int64 = 0
        /// Messages that an earlier run has brought.
        package var present: Int64 = 0
        /// Messages that have expired, that the room has already, or that were recalled.
        package var skipped: Int64 = 0

        package init() {}
    }

    /// A message that waits for its batch.
    private struct Waiting {
        var line: Int
        var message: JSONTree
        var bytes: Int
    }

    static let messagesMax = 100
    /// Below what the server takes, for the beginning and the end of the body.
    static let bytesMax = 255 << 10
    /// How often a call is made while no node leads the room.
    static let attemptsMax = 30
    /// The longest ban that the server takes. A clock that is behind the exporting cluster's must not ask for more.
    static let banSecondsMax: Int64 = 30 * 86_400

    private let client: AdminClient
    /// The room of all lines, whatever they say.
    private let only: String?
    private let skipsRecalled: Bool
    private let pause: @Sendable () async -> Void
    /// Unix milliseconds: a ban is exported by its end.
    private let now: @Sendable () -> Int64
    private let report: @Sendable (String) -> Void
    /// The room of the last room line.
    private var room: String?
    /// The calls that a room needs behind its messages.
    private var last: [(method: String, path: [String], body: [String: JSONTree])] = []
    /// The room of the messages that wait.
    private var target: String?
    private var waiting: [Waiting] = []
    private var bytes = 0
    /// When the rooms were created that messages went to: the same calls for another room of the name are others.
    private var lives: [String: String] = [:]
    /// The newest seqs of rooms before their first messages were brought. The server answers a repeated call as it did the first
    /// time, so that only the seq tells calls of an earlier run.
    private var formerSeqs: [String: Int64] = [:]
    private var reported: Int64 = 0
    /// A server that has never answered is not waited for.
    private var hasAnswered = false
    package private(set) var figures = Figures()
    /// Whether the lines of a room wait for their end, and whether those of one before had none: an export broke off.
    private var isOpen = false, hasBroken = false
    package var isWhole: Bool { !isOpen && !hasBroken }

    /// - Parameters:
    ///   - room: for all lines; nil: the room that they name.
    ///   - skipsRecalled: whether recalled messages are left out; else they are refused.
    ///   - pause: before a call is repeated.
    ///   - now: the time in Unix milliseconds.
    ///   - report: takes a line about how far it is.
    package init(
        _ client: AdminClient, room: String? = nil, skipsRecalled: Bool = false,
        pause: @escaping @Sendable () async -> Void = { _ = try? await Task.sleep(for: .seconds(1)) },
        now: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) },
        report: @escaping @Sendable (String) -> Void
    ) {
        self.client = client
        only = room
        self.skipsRecalled = skipsRecalled
        self.pause = pause
        self.now = now
        self.report = report
    }

    /// A line that was brought before: only what later ones need of it counts.
    package mutating func pass(_ bytes: [UInt8]) {
        switch try? ImportLine(bytes) {
        case .room(let info):
            isOpen = true
            begin(info)
        case .end: isOpen = false
        default: break
        }
    }

    /// Brings a line, now or with those that follow.
    /// - Throws: what is wrong with it, or with one before it, with its number.
    package mutating func take(_ bytes: [UInt8], number: Int) async throws(CommandFailure) {
        let line: ImportLine
        var target: String?
        do throws(CommandFailure) {
            line = try ImportLine(bytes)
            if case .message(let message) = line { target = try self.target(of: message) }
        } catch {
            // Lines before it are not held up by it.
            try await flush()
            throw error.at(line: number)
        }
        if case .message(let message) = line {
            // A refusal is of a line before, which it names.
            if let target { try await add(message, number, to: target) }
            return
        }
        try await flush()
        do throws(CommandFailure) {
            switch line {
            case .room(let info):
                (isOpen, hasBroken) = (true, hasBroken || isOpen)
                try await make(info)
            case .member(let member): try await set(member, isBlacklisted: false)
            case .blacklisted(let member): try await set(member, isBlacklisted: true)
            case .banned(let member): try await ban(member)
            case .end:
                isOpen = false
                try await finish()
            case .message, .empty: break
            }
        } catch {
            throw error.at(line: number)
        }
    }

    /// Brings what waits, and closes and mutes the room where it was so.
    package mutating func finish() async throws(CommandFailure) {
        try await flush()
        for (method, path, body) in last { _ = try await call(method, path, .object(body), key: UUID().uuidString) }
        last = []
    }

    // MARK: - Messages

    /// The room that the message goes to; nil: nowhere, it was recalled.
    private mutating func target(of message: JSONTree) throws(CommandFailure) -> String? {
        guard let room = only ?? room ?? message["room"]?.text else { throw Self.nameless }
        if message["recalled"]?.boolean == true {
            guard skipsRecalled else {
                throw CommandFailure(
                    .usage, "a recalled message has nothing to import: --skip-recalled leaves such lines out")
            }
            figures.skipped += 1
            return nil
        }
        return room
    }

    private mutating func add(_ message: JSONTree, _ line: Int, to room: String) async throws(CommandFailure) {
        let length = message.line.utf8.count + 1
        if target != room || waiting.count == Self.messagesMax || bytes + length > Self.bytesMax { try await flush() }
        target = room
        waiting.append(Waiting(line: line, message: message, bytes: length))
        bytes += length
    }

    private mutating func flush() async throws(CommandFailure) {
        guard let target, !waiting.isEmpty else { return }
        let batch = waiting
        (waiting, bytes) = ([], 0)
        try await bring(batch[...], to: target)
    }

    /// A batch with a message that is refused is halved until that one is found: all before it are kept.
    private mutating func bring(_ batch: ArraySlice<Waiting>, to room: String) async throws(CommandFailure) {
        guard let first = batch.first, let end = batch.last else { return }
        let body = JSONTree.object(["messages": .array(batch.map(\.message))])
        do throws(CommandFailure) {
            let key = try await Self.key(of: body, line: first.line, life: life(of: room))
            let former = try await formerSeq(of: room)
            let answer = try await call("POST", ["rooms", room, "import"], body, key: key)
            count(answer, behind: former, through: end.line, of: room)
        } catch {
            guard batch.count > 1, error.isOfContent else { throw error.at(line: first.line) }
            let middle = batch.startIndex + batch.count / 2
            try await bring(batch[..<middle], to: room)
            try await bring(batch[middle...], to: room)
        }
    }

    private mutating func count(_ answer: JSONTree, behind former: Int64, through line: Int, of room: String) {
        let count = answer["imported"]?.integer ?? 0
        if let seq = answer["seq"]?.integer, seq <= former {
            figures.present += count
        } else {
            figures.imported += count
        }
        figures.skipped += answer["skipped"]?.integer ?? 0
        let done = figures.imported + figures.present + figures.skipped
        guard done >= reported + 1_000 else { return }
        reported = done
        report("line \(line): \(DisplayText.safe(room)) is at seq \(answer["seq"]?.integer ?? 0)")
    }

    private mutating func life(of room: String) async throws(CommandFailure) -> String {
        if let known = lives[room] { return known }
        let info = try await call("GET", ["rooms", room], nil, key: nil)
        let life = String(info["createdAt"]?.integer ?? 0)
        lives[room] = life
        return life
    }

    private mutating func formerSeq(of room: String) async throws(CommandFailure) -> Int64 {
        if let known = formerSeqs[room] { return known }
        let newest = try await call(
            "GET", ["rooms", room, "messages"], nil, query: [("order", "DESC"), ("limit", "1")], key: nil)
        let former = newest["messages"]?.items.first?["seq"]?.integer ?? 0
        formerSeqs[room] = former
        return former
    }

    /// The same for the same lines, so that a second run within the server's memory brings nothing twice (FNV-1a).
    private static func key(of body: JSONTree, line: Int, life: String) -> String {
        let hash = body.line.utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
        return "import \(life) \(line) \(String(hash, radix: 16))"
    }

    // MARK: - Rooms and members

    private static let settings = [
        "name", "announcement", "ext", "broadcastUrl", "entry", "queueLevel", "enterExitNotify", "slowModeSeconds",
        "idleCloseSeconds", "viewerBudget", "highPerSecond", "seatsPerUser", "historyDays", "creator",
    ]
    private static var nameless: CommandFailure {
        CommandFailure(.usage, "no line before it names a room: name it with --room")
    }

    private mutating func begin(_ info: JSONTree) {
        room = only ?? info["id"]?.text
        last = []
        guard let room else { return }
        if info["muted"]?.boolean == true {
            last.append(("PUT", ["rooms", room, "mute"], ["enable": .boolean(true), "notify": .boolean(false)]))
        }
        if info["closed"]?.boolean == true {
            last.append(("POST", ["rooms", room, "close"], ["notify": .boolean(false)]))
        }
    }

    private mutating func make(_ info: JSONTree) async throws(CommandFailure) {
        try await finish()
        begin(info)
        guard let room else { throw CommandFailure(.usage, "the room has no id") }
        var body = ["id": JSONTree.text(room)]
        for name in Self.settings { body[name] = info[name] }
        do throws(CommandFailure) {
            _ = try await call("POST", ["rooms"], .object(body), key: UUID().uuidString)
            figures.rooms += 1
            formerSeqs[room] = 0
        } catch {
            guard error.status == 409 else { throw error }
            report("\(DisplayText.safe(room)) exists: it stays as it is")
        }
    }

    private mutating func set(_ member: JSONTree, isBlacklisted: Bool) async throws(CommandFailure) {
        guard let room = only ?? room else { throw Self.nameless }
        guard let user = member["user"]?.text else { throw CommandFailure(.usage, "the member has no user") }
        var changes: [(String, [String: JSONTree])] = []
        if isBlacklisted || member["blacklisted"]?.boolean == true {
            changes.append(("blacklist", ["enable": .boolean(true)]))
        }
        if !isBlacklisted {
            if let role = member["role"]?.text, role == "MANAGER" || role == "NORMAL" {
                changes.append(("role", ["role": .text(role)]))
            }
            if member["muted"]?.boolean == true { changes.append(("mute", ["enable": .boolean(true)])) }
            if member["tempMuted"]?.boolean == true, let seconds = member["tempMuteSeconds"], seconds != .integer(0) {
                changes.append(("tempMute", ["seconds": seconds]))
            }
        }
        for (action, given) in changes {
            // A notification would be a message of now, behind which none of before can stand.
            var body = given
            body["notify"] = .boolean(false)
            _ = try await call(
                "PUT", ["rooms", room, "members", user, action], .object(body), key: UUID().uuidString)
        }
        figures.members += 1
    }

    /// Keeps the user out for what is left of the ban.
    private mutating func ban(_ member: JSONTree) async throws(CommandFailure) {
        guard let room = only ?? room else { throw Self.nameless }
        guard let user = member["user"]?.text else { throw CommandFailure(.usage, "the banned member has no user") }
        guard let end = member["banEndsAt"]?.integer else {
            throw CommandFailure(.usage, "the banned member has no banEndsAt")
        }
        let time = now()
        guard end > time else { return }
        let seconds = min((end - time - 1) / 1000 + 1, Self.banSecondsMax)
        _ = try await call(
            "POST", ["rooms", room, "members", user, "kick"],
            .object(["banSeconds": .integer(seconds), "notify": .boolean(false)]), key: UUID().uuidString)
        figures.members += 1
    }

    // MARK: - Calls

    /// Makes the call again, under the same key, while it may work later.
    private mutating func call(
        _ method: String, _ path: [String], _ body: JSONTree?, query: [(String, String?)] = [], key: String?
    ) async throws(CommandFailure) -> JSONTree {
        for _ in 1..<Self.attemptsMax {
            do throws(CommandFailure) {
                let answer = try await client.call(method, path, query: query, body: body, idempotencyKey: key)
                hasAnswered = true
                return answer
            } catch {
                guard error.mayPass, hasAnswered || error.code != .unreachable else { throw error }
            }
            await pause()
        }
        return try await client.call(method, path, query: query, body: body, idempotencyKey: key)
    }
}

extension CommandFailure {
    func at(line: Int) -> CommandFailure {
        var failure = self
        failure.message = "line \(line): \(message); all before it is brought, --from-line \(line) goes on there"
        return failure
    }

    /// Whether the server has something against what was sent, and not against whoever has sent it.
    fileprivate var isOfContent: Bool { status == 400 || status == 409 || status == 413 }

    /// Whether it may pass.
    fileprivate var mayPass: Bool { code == .unreachable || status == 429 || status == 503 }
}
