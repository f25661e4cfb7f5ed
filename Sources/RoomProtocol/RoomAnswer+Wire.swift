import ChatModel
import Wire

/// The end of a call of the server API as it travels. Numbers are on the wire: they are never changed or used again.
struct WiredServerAnswer: WireMessage {
    var answer: ServerAnswer

    init(_ answer: ServerAnswer) { self.answer = answer }

    static var blank: WiredServerAnswer {
        WiredServerAnswer(ServerAnswer(to: ServerOrigin(node: .blank, lane: 0, request: 0), .retry))
    }
    static var schemaName: String { "ServerAnswer" }

    /// An answer of a later version is an error.
    private static var unknown: ServerAnswer.Outcome {
        .answered(.failure(ChatError(.internal, "an answer of a later version")))
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var lane = UInt32(clamping: answer.lane)
        try walker.shown(1, "lane", &lane)
        try walker.shown(2, "request", &answer.request)
        let (request, current) = (answer.request, answer.outcome)
        var read: ServerAnswer.Outcome?
        try walker.choice(
            3, "retry", { if case .retry = current { Empty() } else { nil } }, { (_: Empty) in read = .retry })
        try walker.choice(
            4, "error", { if case .answered(.failure(let error)) = current { error } else { nil } },
            { read = .answered(.failure($0)) })
        let success: RoomAnswer? = if case .answered(.success(let answer)) = current { answer } else { nil }
        var given: RoomAnswer?
        try walker.choice(
            5, "result",
            {
                if case .result(let result) = success {
                    ServerItem.reply(id: request, .success(result))
                } else {
                    nil
                }
            },
            { item in
                switch item {
                case .reply(_, .success(let result)): given = .result(result)
                case .reply(_, .failure(let error)): read = .answered(.failure(error))
                default: break
                }
            })
        try walker.choice(
            6, "command", { if case .command(let result) = success { result } else { nil } },
            { given = .command($0) })
        try walker.choice(
            7, "message",
            { if case .message(let message) = success { StoredMessage(message: message) } else { nil } },
            { given = .message($0.message) })
        try walker.choice(
            8, "copies", { if case .copies(let found) = success { WiredFound(found: found) } else { nil } },
            { given = .copies($0.found) })
        try walker.choice(
            9, "explain", { if case .explain(let figures) = success { figures } else { nil } },
            { given = .explain($0) })
        try walker.choice(
            10, "done", { if case .done = success { Empty() } else { nil } }, { (_: Empty) in given = .done })
        try walker.choice(
            11, "tallies", { if case .tallies(let tallies) = success { TalliesResult(tallies: tallies) } else { nil } },
            { given = .tallies($0.tallies) })
        try walker.choice(
            12, "polls", { if case .polls(let polls) = success { PollsResult(polls: polls) } else { nil } },
            { given = .polls($0.polls) })
        try walker.choice(
            20, "media", { if case .media(let status) = success { status } else { nil } }, { given = .media($0) })
        try walker.choice(
            21, "keptMedia", { if case .keptMedia(let kept) = success { WiredKept(kept: kept) } else { nil } },
            { given = .keptMedia($0.kept) })
        try walker.choice(
            25, "reports", { if case .reports(let page) = success { page } else { nil } }, { given = .reports($0) })
        guard W.isDecoding else { return }
        answer.lane = Int(lane)
        answer.outcome = read ?? given.map { .answered(.success($0)) } ?? Self.unknown
    }
}

/// Messages by the IDs that they were asked by, in the order of these.
private struct WiredFound: WireMessage {
    var found: [String: Message]

    static var blank: WiredFound { WiredFound(found: [:]) }
    static var schemaName: String { "Found" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var list = W.isDecoding ? [] : found.sorted { $0.key < $1.key }.map { WiredCopy(id: $0.key, message: $0.value) }
        try walker.list(1, "copies", &list)
        if W.isDecoding { found = Dictionary(list.map { ($0.id, $0.message) }) { _, last in last } }
    }
}

private struct WiredCopy: WireMessage {
    var id: String
    var message: Message

    static var blank: WiredCopy { WiredCopy(id: "", message: .blank) }
    static var schemaName: String { "Copy" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var stored = StoredMessage(message: message)
        try walker.required(1, "id", &id)
        try walker.required(2, "message", &stored)
        if W.isDecoding { message = stored.message }
    }
}

/// Digests by ID, in the order of these.
private struct WiredKept: WireMessage {
    var kept: [String: String]

    static var blank: WiredKept { WiredKept(kept: [:]) }
    static var schemaName: String { "KeptMedia" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (ids, digests): ([String], [String]) = ([], [])
        if !W.isDecoding {
            let list = kept.sorted { $0.key < $1.key }
            (ids, digests) = (list.map(\.key), list.map(\.value))
        }
        try walker.list(1, "ids", &ids)
        try walker.list(2, "digests", &digests)
        if W.isDecoding { kept = Dictionary(zip(ids, digests)) { first, _ in first } }
    }
}
