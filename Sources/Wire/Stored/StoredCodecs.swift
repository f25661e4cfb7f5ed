import ChatModel

/// Commands as the replicated log holds them: protobuf, see `stored.proto`. Equal commands have equal bytes.
public enum LogCodec {
    /// - Parameter time: the leader's stamp.
    public static func encode(_ command: Command, time: Timestamp) -> [UInt8] {
        WireProtobuf.encode(StoredCommand(time: time, command: command))
    }

    /// - Throws: `corrupt`; `unknown` for a command with a field that is not known. Replicas that skip it would do something
    ///   else than those that know it.
    public static func decode(_ bytes: [UInt8]) throws(WireError) -> (Command, Timestamp) {
        var known = KnownCommandParts()
        return try decode(bytes, known: &known)
    }

    /// The same of one entry after the other.
    /// - Parameter known: of those before.
    /// - Throws: `corrupt`, `unknown`.
    public static func decode(_ bytes: [UInt8], known: inout KnownCommandParts) throws(WireError) -> (
        Command, Timestamp
    ) {
        var entry = StoredCommand.blank
        swap(&entry.known, &known)
        defer { swap(&entry.known, &known) }
        try fill(&entry, from: bytes, "log entry", .allFields)
        return (entry.command, entry.time)
    }

    /// The room that an entry's command is for, at a tenth of the price of the command; nil for what is none.
    public static func room(of bytes: [UInt8]) -> RoomID? {
        (try? stored(RoomOfCommand.self, bytes, "log entry"))?.room
    }
}

/// Values of catalogue rows: protobuf, see `stored.proto`. Equal values have equal bytes.
public enum CatalogueCodec {
    public static func encode(_ value: CatalogueValue) -> [UInt8] {
        switch value {
        case .room(let record): WireProtobuf.encode(record)
        case .member(let record): WireProtobuf.encode(record)
        case .queue(let element, let position):
            WireProtobuf.encode(PlacedElement(element: element, position: position))
        case .command(let memory): WireProtobuf.encode(memory)
        case .robot(let record): WireProtobuf.encode(record)
        case .time(let time): WireProtobuf.encode(SlowRecord(time: time))
        case .webhook(let record): WireProtobuf.encode(record)
        case .deletedRoom(let record): WireProtobuf.encode(record)
        case .tally(let tally): WireProtobuf.encode(tally)
        case .taps(let memory): WireProtobuf.encode(memory)
        case .upload(let record): WireProtobuf.encode(record)
        case .poll(let record): WireProtobuf.encode(record)
        case .votes(let votes): WireProtobuf.encode(votes)
        case .report(let report): WireProtobuf.encode(StoredReport(report: report))
        case .held(let record): WireProtobuf.encode(record)
        case .denied(let record): WireProtobuf.encode(record)
        case .owedHeld(let event): WireProtobuf.encode(event)
        }
    }

    /// - Parameter rules: `allFields` for what a replica's state is made of.
    /// - Throws: `corrupt`; by these rules `unknown`.
    public static func decode(kind: CatalogueKind, _ bytes: [UInt8], _ rules: ProtobufRules = []) throws(WireError)
        -> CatalogueValue
    {
        switch kind {
        case .room: return .room(try stored(RoomRecord.self, bytes, "room row", rules))
        case .member: return .member(try stored(MemberRecord.self, bytes, "member row", rules))
        case .queue:
            let placed = try stored(PlacedElement.self, bytes, "queue row", rules)
            return .queue(placed.element, position: placed.position)
        // Former versions wrote more of the result than is remembered.
        case .command: return .command(try stored(CommandMemory.self, bytes, "command row"))
        case .robot: return .robot(try stored(RobotRecord.self, bytes, "robot row", rules))
        case .slow: return .time(try stored(SlowRecord.self, bytes, "slow mode row", rules).time)
        case .webhook: return .webhook(try stored(WebhookRecord.self, bytes, "webhook row", rules))
        case .tally: return .tally(try stored(Tally.self, bytes, "tally row", rules))
        case .taps: return .taps(try stored(TapMemory.self, bytes, "row of taps", rules))
        case .upload: return .upload(try stored(UploadRecord.self, bytes, "row of content", rules))
        case .poll: return .poll(try stored(PollRecord.self, bytes, "poll row", rules))
        case .votes: return .votes(try stored(PollVotes.self, bytes, "row of votes", rules))
        case .report: return .report(try stored(StoredReport.self, bytes, "row of a report", rules).report)
        case .held: return .held(try stored(HeldRecord.self, bytes, "row of a held message", rules))
        case .denied: return .denied(try stored(DeniedRecord.self, bytes, "row of a denied message", rules))
        case .owedHeld: return .owedHeld(try stored(RoomLifeEvent.self, bytes, "row of what is owed", rules))
        case .deletedRoom: return .deletedRoom(try stored(DeletedRoomRecord.self, bytes, "deleted room's row", rules))
        }
    }
}

/// Messages as history rows hold them: protobuf, the `Message` of `chatroom.proto` with what is not shown beside.
public enum HistoryCodec {
    public static func encode(_ message: Message) -> [UInt8] { WireProtobuf.encode(StoredMessage(message: message)) }

    /// The copies of a COMBINE, which are kept beside its message.
    public static func encode(copies: [Message]) -> [UInt8] { WireProtobuf.encode(KeptCopies(copies: copies)) }

    /// - Throws: `corrupt`.
    public static func decodeCopies(_ bytes: [UInt8]) throws(WireError) -> [Message] {
        try stored(KeptCopies.self, bytes, "row of copies").copies
    }

    /// How long a message is where it is longest, as JSON in a list: what counts against `Limits.pageBytes`.
    public static func shownBytes(_ message: Message) -> Int { WireJSON.encode(message).count + 1 }

    /// The same of a message that `encode` wrote; 0 for what is none.
    public static func shownBytes(of payload: [UInt8]) -> Int { (try? decode(payload)).map(shownBytes) ?? 0 }

    /// `Message.quotedSeq` of a message that `encode` wrote; nil for most, which quote none.
    public static func quotedSeq(in payload: [UInt8]) -> UInt64? {
        guard let part = try? stored(QuotingPart.self, payload, "history row"), part.mayQuote else { return nil }
        return (try? decode(payload))?.quotedSeq
    }

    /// Whether a message that `encode` wrote was amended.
    public static func isAmended(_ payload: [UInt8]) -> Bool {
        payload.withUnsafeBytes { ProtobufReader.has(MessageFields.editedAtNumber, in: $0) }
    }

    /// The texts in which a search finds a message that `encode` wrote (`MessageBody.searchedText`); empty for what is none.
    public static func searchedText(in payload: [UInt8]) -> String {
        (try? stored(StoredBody.self, payload, "history row"))?.body.searchedText ?? ""
    }

    /// A message that `encode` wrote, without what it quotes.
    public static func withoutQuote(_ payload: [UInt8]) -> [UInt8] {
        (try? decode(payload)).map { encode($0.withoutQuote) } ?? payload
    }

    /// A message of a type, or a notification of an event, that this version does not know comes as that: with its seq,
    /// its number and what every message has, without its content. So one such row costs nobody the others, and nobody
    /// takes its place for a hole (PROTOCOL.md, "Versions").
    ///
    /// - Throws: `corrupt`.
    public static func decode(_ bytes: [UInt8]) throws(WireError) -> Message {
        try stored(StoredMessage.self, bytes, "history row").message
    }
}

/// The system group's log entries and its state on disk: protobuf, see `stored.proto`.
public enum SystemCodec {
    public static func encode(_ entry: SystemEntry) -> [UInt8] { WireProtobuf.encode(entry) }

    /// - Throws: `corrupt`, `unknown`.
    public static func decode(_ bytes: [UInt8]) throws(WireError) -> SystemEntry {
        try stored(SystemEntry.self, bytes, "system log entry", .allFields)
    }

    public static func encode(_ snapshot: SystemSnapshot) -> [UInt8] { WireProtobuf.encode(snapshot) }

    /// - Parameter own: what this program can do. A state of a higher level is read as far as it is known, so that its level
    ///   can be told.
    /// - Throws: `corrupt`, `unknown`.
    public static func decodeSnapshot(_ bytes: [UInt8], own: FeatureLevel) throws(WireError) -> SystemSnapshot {
        let snapshot = try stored(SystemSnapshot.self, bytes, "system state")
        return snapshot.level > own ? snapshot : try stored(SystemSnapshot.self, bytes, "system state", .allFields)
    }
}

/// The copies of a COMBINE, in a row of their own. The number is above those of `Message`.
struct KeptCopies: WireMessage {
    var copies: [Message]

    static var blank: KeptCopies { KeptCopies(copies: []) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.repeated(100, "copies", &copies)
    }
}

/// The body of a stored message alone. Each message is read for the index of searches, most of them for nothing else.
private struct StoredBody: WireMessage {
    var body: MessageBody

    static var blank: StoredBody { StoredBody(body: .text("")) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try MessageFields.walk(&body, isRecalled: false, &walker)
    }
}

/// The part of a stored message that tells whether it may quote: every row of a page is asked, and few are read whole for it.
private struct QuotingPart: WireMessage {
    var event: OpenEvent?
    var reply: ReplyReference?

    static var blank: QuotingPart { QuotingPart() }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(Notification.eventNumber, "event", &event)
        try walker.optional(MessageFields.replyNumber, "replyTo", &reply)
    }

    var mayQuote: Bool { reply?.excerpt != nil || event?.known == .amended }
}

/// Decodes what the cluster wrote: limits are not enforced, since they may have changed.
private func stored<M: WireMessage>(
    _ type: M.Type, _ bytes: [UInt8], _ what: StaticString, _ rules: ProtobufRules = []
) throws(WireError) -> M {
    var message = M.blank
    try fill(&message, from: bytes, what, rules)
    return message
}

private func fill<M: WireMessage>(
    _ message: inout M, from bytes: [UInt8], _ what: StaticString, _ rules: ProtobufRules
) throws(WireError) {
    do throws(ChatError) {
        try WireProtobuf.fill(&message, from: bytes, rules)
    } catch { throw WireError(error, in: what) }
}
