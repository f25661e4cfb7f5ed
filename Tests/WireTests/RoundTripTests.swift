import ChatModel
import Testing

@testable import Wire

/// Every message, in both encodings: what was written is what is read.
@Suite struct `Round trips` {
    let rounds = 60

    @Test func `every request survives JSON and protobuf`() {
        var samples = Samples()
        for _ in 0..<rounds {
            let requests = samples.requests()
            var json: [UInt8] = []
            var protobuf: [UInt8] = []
            for request in requests {
                request.appendJSON(to: &json)
                json.append(UInt8(ascii: "\n"))
                request.appendProtobuf(to: &protobuf)
            }
            #expect(read(json: json) == requests.map(Result.success), "SEED=\(SeededGenerator.seed)")
            #expect(read(protobuf: protobuf) == requests.map(Result.success), "SEED=\(SeededGenerator.seed)")
        }
    }

    @Test func `what was missed and is encoded already makes the same reply`() {
        var samples = Samples()
        for count in [0, 1, 2, 100] {
            for _ in 0..<rounds {
                var result = EnterResult(
                    room: samples.roomView(), me: samples.member(), epoch: samples.text(64), seq: samples.uint64(),
                    queue: samples.maybe { $0.list { $0.element() } }, recovered: samples.maybe { $0.bool() },
                    missedMore: samples.maybe { $0.bool() })
                let missed = (0..<count).map { _ in samples.message() }
                let id = UInt32.random(in: 1 ... .max, using: &samples.generator)
                for encoding in ClientEncoding.allCases {
                    let encoded = EnterResult.encodeMissed(missed, in: encoding)
                    var (reply, expected): ([UInt8], [UInt8]) = ([1], [1])
                    // It counts alone, whatever the result has itself.
                    result.missed = encoding == .json ? nil : [samples.message()]
                    result.appendReply(id: id, missed: encoded, in: encoding, to: &reply)
                    result.missed = missed
                    let item = ServerItem.reply(id: id, .success(.enter(result)))
                    switch encoding {
                    case .json: item.appendJSON(to: &expected)
                    case .protobuf: item.appendProtobuf(to: &expected)
                    }
                    #expect(reply == expected, "SEED=\(SeededGenerator.seed)")
                }
            }
        }
    }

    @Test func `everything that a server says survives JSON and protobuf`() throws {
        var samples = Samples()
        for _ in 0..<rounds {
            let items = samples.items()
            var json: [UInt8] = []
            var protobuf: [UInt8] = []
            for item in items {
                item.appendJSON(to: &json)
                json.append(UInt8(ascii: "\n"))
                item.appendProtobuf(to: &protobuf)
            }
            var read: [ServerItem] = []
            try json.withUnsafeBytes { try ServerFrame.items(inJSON: $0) { read.append($0) } }
            #expect(read == items, "SEED=\(SeededGenerator.seed)")
            read = []
            try protobuf.withUnsafeBytes { try ServerFrame.items(inProtobuf: $0) { read.append($0) } }
            #expect(read == items, "SEED=\(SeededGenerator.seed)")
        }
    }

    @Test func `every command survives the log, and equal commands have equal bytes`() throws {
        var samples = Samples()
        for _ in 0..<rounds {
            for body in samples.bodies() {
                let (command, time) = (samples.command(body), samples.time())
                let bytes = LogCodec.encode(command, time: time)
                let (read, stamp) = try LogCodec.decode(bytes)
                #expect(read == command && stamp == time, "SEED=\(SeededGenerator.seed)")
                #expect(LogCodec.encode(read, time: stamp) == bytes)
                #expect(LogCodec.room(of: bytes) == command.room)
            }
        }
    }

    @Test func `commands that repeat parts of those before are read as they were written`() throws {
        var samples = Samples()
        var known = KnownCommandParts()
        var commands = samples.bodies().map { samples.command($0) }
        for _ in 0..<rounds {
            // The actor and the facts of another one, at times of one that is among those known.
            let (one, other) = (samples.int(0...commands.count - 1), samples.int(0...commands.count - 1))
            if samples.bool() { commands[one].actor = commands[other].actor }
            if samples.bool() { commands[one].facts = commands[other].facts }
            for index in [one, other, one] {
                let bytes = LogCodec.encode(commands[index], time: Timestamp(1))
                #expect(try LogCodec.decode(bytes, known: &known).0 == commands[index], "SEED=\(SeededGenerator.seed)")
            }
            // A broken one is refused as ever, and spoils nothing.
            let bytes = LogCodec.encode(commands[one], time: Timestamp(1))
            let cut = Array(bytes[..<samples.int(0...bytes.count - 1)])
            let alone = try? LogCodec.decode(cut).0
            #expect((try? LogCodec.decode(cut, known: &known).0) == alone)
        }
    }

    @Test func `every catalogue value and history message survives`() throws {
        var samples = Samples()
        for _ in 0..<rounds {
            for (kind, value) in samples.catalogueValues() {
                let read = try CatalogueCodec.decode(kind: kind, CatalogueCodec.encode(value))
                #expect(read == value, "SEED=\(SeededGenerator.seed)")
            }
            let message = samples.message()
            #expect(try HistoryCodec.decode(HistoryCodec.encode(message)) == message, "SEED=\(SeededGenerator.seed)")
        }
    }

    @Test func `every cut of what is stored is refused or reads as something shorter, and never traps`() throws {
        var samples = Samples()
        for body in samples.bodies() {
            let bytes = LogCodec.encode(samples.command(body), time: samples.time())
            for count in 0..<bytes.count {
                // A cut between fields may leave a whole command without its last, optional fields.
                guard let (command, time) = try? LogCodec.decode(Array(bytes[..<count])) else { continue }
                #expect(LogCodec.encode(command, time: time).count <= count)
            }
        }
    }

    @Test func `every cut of a request frame fails, except behind a whole request`() {
        var samples = Samples()
        for request in samples.requests() {
            var protobuf: [UInt8] = []
            var json: [UInt8] = []
            request.appendProtobuf(to: &protobuf)
            request.appendJSON(to: &json)
            for count in 0..<protobuf.count {
                #expect(
                    read(protobuf: Array(protobuf[..<count])) == [malformed(read(protobuf: Array(protobuf[..<count])))])
            }
            for count in 0..<json.count {
                let results = read(json: Array(json[..<count]))
                #expect(results == [malformed(results)])
            }
        }
    }

    /// The failure that `results` must hold: one without ID, 400.
    private func malformed(_ results: [Result<ClientRequest, RequestFailure>]) -> Result<ClientRequest, RequestFailure>
    {
        guard case .failure(let failure)? = results.first else { return .failure(RequestFailure(id: 0, error: .blank)) }
        return .failure(RequestFailure(id: nil, error: ChatError(.malformed, failure.error.message)))
    }

    /// A property added to the vocabulary must be added to its walk: samples alone would not notice.
    @Test func `the walks know as many properties as the vocabulary has`() {
        var samples = Samples()
        func count(_ value: Any) -> Int { Mirror(reflecting: value).children.count }
        /// The reference to the parts that few values have.
        func rare(_ value: Any) -> Any? { Mirror(reflecting: value).descendant("rare", "some") }
        var message = samples.message()
        message.ext = "some"
        #expect(count(message.fields) == 11)
        #expect(rare(message.fields).map(count) == 5)
        var draft = samples.draft()
        draft.ext = "some"
        #expect(count(draft) == 6)
        #expect(rare(draft).map(count) == 4)
        #expect(count(samples.member()) == 10)
        #expect(count(samples.roomInfo()) == 19)
        #expect(count(samples.roomView()) == 6)
        #expect(count(samples.roomChanges()) == 13)
        #expect(count(samples.profileChanges()) == 3)
        #expect(count(samples.profile()) == 3)
        #expect(count(samples.element()) == 7)
        #expect(count(samples.media()) == 12)
        #expect(count(samples.upload()) == 5)
        #expect(count(samples.uploadRecord()) == 9)
        #expect(count(HeldRecord.blank) == 9)
        #expect(count(DeniedRecord.blank) == 8)
        #expect(count(ImportedMessage.blank) == 9)
        #expect(count(samples.sender()) == 3)
        #expect(count(samples.notification(.exit)) == 5)
        #expect(count(samples.error()) == 4)
        #expect(count(samples.options()) == 2)
        #expect(count(samples.command(.expire)) == 5)
        var facts = CommandFacts()
        facts.delivered = 1
        #expect(count(facts) == 9)
        #expect(rare(facts).flatMap { Mirror(reflecting: $0).descendant("fields") }.map(count) == 18)
        #expect(count(RoomRecord.blank) == 11)
        #expect(count(RecordedKick.blank) == 3)
        #expect(count(MemberRecord.blank) == 8)
        #expect(count(CommandMemory.blank) == 4)
        #expect(count(RecallTarget.blank) == 4)
        #expect(count(QueueElementVersion.blank) == 3)
        #expect(count(BarrageItem.blank) == 7)
        #expect(count(HistoryRequest()) == 6)
        #expect(count(WebhookRecord.blank) == 8)
        #expect(count(MessageReport.blank) == 10)
        #expect(count(RoomLifeEvent.blank) == 7)
        #expect(count(WebhookProgress.blank) == 6)
        #expect(count(WebhookSettings.blank) == 5)
        #expect(count(HookSettings.blank) == 4)
        #expect(count(Tally.blank) == 4)
        #expect(count(Poll.blank) == 7)
        #expect(count(PollRecord.blank) == 4)
        #expect(count(TallySettings.blank) == 3)
        #expect(count(TapBatch.blank) == 4)
        #expect(count(TapMemory.blank) == 3)
    }
}

/// All requests of a JSON frame.
func read(json: [UInt8]) -> [Result<ClientRequest, RequestFailure>] {
    var results: [Result<ClientRequest, RequestFailure>] = []
    json.withUnsafeBytes { ClientFrame.requests(inJSON: $0) { results.append($0) } }
    return results
}

func read(json: String) -> [Result<ClientRequest, RequestFailure>] { read(json: Array(json.utf8)) }

/// All requests of a protobuf frame.
func read(protobuf: [UInt8]) -> [Result<ClientRequest, RequestFailure>] {
    var results: [Result<ClientRequest, RequestFailure>] = []
    protobuf.withUnsafeBytes { ClientFrame.requests(inProtobuf: $0) { results.append($0) } }
    return results
}

/// The code and field of the only failure, or nil.
func failure(_ json: String) -> (id: UInt32?, code: ErrorCode, field: String?)? {
    guard case .failure(let failure)? = read(json: json).first else { return nil }
    return (failure.id, failure.error.code, failure.error.field)
}
