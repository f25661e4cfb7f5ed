import ChatModel
import RoomCore
import Testing
import Wire

@testable import RoomProtocol

/// What nodes tell each other comes out as it went in, and nothing else gets in.
@Suite struct `Node payloads` {
    private func sent(_ message: NodeMessage) throws -> [NodeMessage] {
        var reader = NodePayloadReader()
        return try NodePayload.payloads(of: message).compactMap { try reader.read($0) }
    }

    @Test func `every call survives, all in one payload`() throws {
        var samples = Samples()
        for _ in 0..<20 {
            let calls = samples.roomRequests()
            #expect(try sent(.requests(calls)) == [.requests(calls)], "SEED=\(SeededGenerator.seed)")
        }
        #expect(NodePayload.payloads(of: .requests([])).isEmpty)
        for _ in 0..<20 {
            let answers = samples.serverAnswers()
            #expect(try sent(.answers(answers)) == [.answers(answers)], "SEED=\(SeededGenerator.seed)")
        }
    }

    @Test func `every output survives, of several rooms in one payload`() throws {
        var samples = Samples()
        for _ in 0..<20 {
            let publications = [
                NodePublication(
                    room: samples.room(), term: samples.uint64(), lanes: [0, 255],
                    outputs: samples.outputs().map { .all($0) }),
                NodePublication(
                    room: samples.room(), term: 0, lanes: [],
                    outputs: samples.outputs().reversed().map { .lane(samples.int(0...300), $0) }),
            ]
            let message = NodeMessage.publications(publications)
            #expect(try sent(message) == [message], "SEED=\(SeededGenerator.seed)")
        }
        #expect(NodePayload.payloads(of: .publications([])).isEmpty)
    }

    @Test func `every question, every answer and every notice survives`() throws {
        var samples = Samples()
        for _ in 0..<20 {
            for question in samples.questions() {
                let message = NodeMessage.question(id: samples.uint64(), question)
                #expect(try sent(message) == [message], "SEED=\(SeededGenerator.seed)")
            }
            for answer in samples.answers().map(Result.success) + [.failure(samples.error())] {
                let message = NodeMessage.answer(id: samples.uint64(), answer)
                #expect(try sent(message) == [message], "SEED=\(SeededGenerator.seed)")
            }
        }
        for message in bodies(&samples) + pulses(&samples) {
            #expect(try sent(message) == [message], "SEED=\(SeededGenerator.seed)")
        }
        let notices = [ShardNotice(shard: ShardID(0), term: 0), ShardNotice(shard: ShardID(.max), term: .max)]
        #expect(try sent(.leads(notices)) == [.leads(notices)])
    }

    /// Bodies, their names in the places of their bytes, and what is said of bodies that are lost.
    private func bodies(_ samples: inout Samples) -> [NodeMessage] {
        let name = BodyName(life: samples.uint64(), number: samples.uint64())
        let names = BodyNames(life: samples.uint64(), numbers: [samples.uint64(), 0, .max])
        var named = SharedFrameWriter([]).frame(.barrage(.high), barrage: 3)
        let both = SharedBody(json: [1, 2, 3], protobuf: [4, 5])
        let references = [
            BodyReference(both, name: name), BodyReference(SharedBody(json: nil, protobuf: [9]), name: name),
        ]
        var outputs: [NodePublication.Output] = [.shared(.frame(named), references[0]), .all(.gap(1...2))]
        named.keptSeqs = 4...9
        outputs += [.shared(.barrage(named, skipped: 7), references[1]), .lane(2, frame(30)), .all(frame(40))]
        let nodes = ["n1", "n2", "n3"].compactMap { NodeID($0) }
        return [
            .publications([NodePublication(room: samples.room(), term: 4, lanes: [0, 3], outputs: outputs)]),
            .body(RelayedBody(origin: nodes[0], name: name, body: both, descendants: nodes)),
            .body(
                RelayedBody(
                    origin: nodes[1], name: name, body: SharedBody(json: [], protobuf: nil), descendants: [])),
            .bodyRequest(names), .bodiesGone(names),
        ]
    }

    @Test func `what a later version says is a question or an answer that this one does not know`() throws {
        // Field 1: 5; field 99: an empty message.
        let later: [UInt8] = [0x08, 5, 0x9A, 0x06, 0]
        var reader = NodePayloadReader()
        #expect(try reader.read([NodePayload.Kind.question.rawValue] + later) == .question(id: 5, .unknown))
        guard case .answer(5, .failure(let error))? = try reader.read([NodePayload.Kind.answer.rawValue] + later) else {
            Issue.record("no answer 5")
            return
        }
        #expect(error.code == .internal)
    }

    // MARK: - Sizes

    private func frame(_ bytes: Int) -> RoomOutput {
        var frame = SharedFrameWriter([]).frame(.messages, keptSeqs: 7...9)
        frame.json = Array(repeating: 7, count: bytes)
        return .frame(frame)
    }

    private func publication(_ outputs: [RoomOutput]) throws -> NodePublication {
        NodePublication(room: try #require(RoomID("r")), term: 3, lanes: [0, 2], outputs: outputs.map { .all($0) })
    }

    private func outputs(_ messages: [NodeMessage]) -> [RoomOutput] {
        messages.flatMap { message -> [RoomOutput] in
            guard case .publications(let publications) = message else { return [] }
            return publications.flatMap(\.outputs).map(\.output)
        }
    }

    @Test func `many outputs make several payloads of about the size that is wanted, in order`() throws {
        let all = (0..<100).map { frame(10_000 + $0) }
        let message = NodeMessage.publications([try publication(all)])
        let payloads = NodePayload.payloads(of: message)
        #expect(payloads.count == 4)
        #expect(payloads.allSatisfy { $0.count <= NodePayload.bytesWanted })
        #expect(outputs(try sent(message)) == all)
    }

    @Test func `a payload of exactly the most that a frame holds is one, and a byte more goes in parts`() throws {
        func payloads(_ bytes: Int) throws -> [[UInt8]] {
            NodePayload.payloads(of: .publications([try publication([frame(bytes)])]))
        }
        let near = NodePayload.bytesMax - 1000
        let overhead = try #require(try payloads(near).first).count - near
        let most = NodePayload.bytesMax - overhead
        #expect(try payloads(most).map(\.count) == [NodePayload.bytesMax])
        let parts = try payloads(most + 1)
        #expect(parts.count == 5)
        #expect(parts.allSatisfy { $0.count <= PayloadParts.partBytes + PayloadParts.headerBytes })
        let other = try payloads(most + 2)
        var reader = NodePayloadReader()
        var read: [NodeMessage] = []
        for (one, two) in zip(parts, other) {
            if let message = try reader.read(one) { read.append(message) }
            if let message = try reader.read(two) { read.append(message) }
        }
        #expect(outputs(read) == [frame(most + 1), frame(most + 2)])
    }

    @Test func `of parts that never become a whole only some are kept, and parts without a beginning are nothing`()
        throws
    {
        func parts(_ number: Int) throws -> [[UInt8]] {
            let output = frame(NodePayload.bytesMax + number)
            return NodePayload.payloads(of: .publications([try publication([output])]))
        }
        var reader = NodePayloadReader()
        let all = try (0...PayloadParts.incompleteMax).map { try parts($0) }
        for parts in all { for part in parts.dropLast() { #expect(try reader.read(part) == nil) } }
        let complete = try all.map { parts in try reader.read(try #require(parts.last)) != nil }
        #expect(complete == [false] + Array(repeating: true, count: PayloadParts.incompleteMax))
    }

    @Test func `what is over the bound of a message is replaced, and what follows it is there`() throws {
        let session = try #require(SessionID("s"))
        let huge = frame(NodePayload.messageBytesMax)
        let text = String(repeating: "a", count: NodePayload.messageBytesMax)
        let reply = RoomOutput.reply(session, request: 4, .success(.queueSetMany(MissingResult(missing: [text]))))
        let message = NodeMessage.publications(
            [try publication([.gap(1...2), huge, .gap(3...4), reply, .gap(5...6)])])
        let read = outputs(try sent(message))
        #expect(read.count == 5)
        #expect(Array(read.prefix(3)) == [.gap(1...2), .gap(7...9), .gap(3...4)])
        guard case .reply(session, request: 4, .failure(let error), isRepeat: false, charged: 0) = read[3] else {
            Issue.record("no error in the place of the reply")
            return
        }
        #expect(error.code == .tooLarge)
        let answer = try sent(.answer(id: 8, .success(.cluster(id: text, shardCount: 1))))
        guard case .answer(8, .failure(let failure))? = answer.first else {
            Issue.record("no error in the place of the answer")
            return
        }
        #expect(failure.code == .tooLarge)
        #expect(NodePayload.payloads(of: .question(id: 1, .propose(.begin, key: text))).isEmpty)
    }

    @Test func `all of a session survives on its way to another replica, with the node that holds it`() throws {
        var samples = Samples()
        for _ in 0..<50 {
            let update = presence(&samples)
            #expect(try sent(.presence(update)) == [.presence(update)], "SEED=\(SeededGenerator.seed)")
        }
    }

    // MARK: - What no node says

    private func messages(_ samples: inout Samples) throws -> [NodeMessage] {
        let outputs = samples.outputs().suffix(11)
        return [
            .requests(Array(samples.roomRequests().suffix(6))), .publications([try publication(Array(outputs))]),
            .leads([ShardNotice(shard: ShardID(3), term: 4), ShardNotice(shard: ShardID(5), term: 6)]),
            .question(id: 9, .explain(samples.room())), .answers(samples.serverAnswers()),
            .answer(id: 9, .success(.sessions([], next: "n"))),
        ] + bodies(&samples) + pulses(&samples)
    }

    /// What leaders and lanes say of what they believe of each other.
    private func pulses(_ samples: inout Samples) -> [NodeMessage] {
        let tally = RoomTally(
            room: samples.room(), sessions: samples.uint64(), sum: samples.uint64(), seq: samples.uint64(),
            isWaiting: samples.bool())
        var lane = LaneTally(lane: 3)
        lane.add(tally)
        return [
            .pulses([
                ShardPulse(shard: ShardID(3), term: 4, lanes: [lane, LaneTally(lane: 0)]),
                ShardPulse(shard: ShardID(.max), term: .max, lanes: []),
            ]),
            .tallyRequest(TallyRequest(shard: ShardID(7), lane: 2)),
            .tallyRequest(TallyRequest(shard: ShardID(0), lane: 0)),
            .tallies(ShardTallies(shard: ShardID(7), lane: 2, term: samples.uint64(), rooms: [tally], isWhole: false)),
            .tallies(ShardTallies(shard: ShardID(0), lane: 0, term: nil)),
            .recount(LaneRecount(lane: 1, rooms: [samples.room(), samples.room()])),
            .uses([
                UserUse(user: samples.user(), changes: samples.int(0...100), reads: .max, bytes: samples.int(0...9)),
                UserUse(user: samples.user()),
            ]),
            .takenOver([
                TakenSession(session: samples.session(), at: samples.time()),
                TakenSession(session: samples.session(), at: Timestamp(0)),
            ]),
            .presence(presence(&samples)),
            .presence(PresenceUpdate(shard: ShardID(0), term: 1, node: samples.node(), isFirst: true)),
        ]
    }

    private func presence(_ samples: inout Samples) -> PresenceUpdate {
        let node = samples.node()
        func visitor(_ samples: inout Samples) -> Visitor {
            Visitor(
                key: PresenceKey(node: node, session: samples.session()), laneNumber: samples.int(0...9),
                user: samples.user(), profile: samples.profile(), anonymous: samples.bool(),
                device: samples.any(Device.self), enteredAt: samples.time())
        }
        var full = visitor(&samples)
        (full.encoding, full.notifyExt, full.addressHash) = (.protobuf, samples.text(), samples.uint64())
        (full.revivedAt, full.enteredBy) = (samples.time(), samples.uint64())
        var lost = visitor(&samples)
        lost.key.node = samples.node()
        let changes: [PresenceChange] = [
            .here(full), .here(visitor(&samples)), .here(lost), .gone(samples.session()), .emptied,
        ]
        return PresenceUpdate(
            shard: ShardID(.max), term: .max, node: node,
            changes: changes.map { PresenceUpdate.Change(room: samples.room(), $0) })
    }

    @Test func `every cut is refused or reads as something shorter`() throws {
        var samples = Samples()
        for message in try messages(&samples) {
            let payload = try #require(NodePayload.payloads(of: message).first)
            for count in 0..<payload.count {
                var reader = NodePayloadReader()
                guard let read = try? reader.read(Array(payload[..<count])) else { continue }
                #expect(read != message, "SEED=\(SeededGenerator.seed)")
            }
        }
    }

    @Test func `damaged payloads are refused or are other messages, and never trap`() throws {
        var samples = Samples()
        for message in try messages(&samples) {
            let payload = try #require(NodePayload.payloads(of: message).first)
            for _ in 0..<200 {
                var damaged = payload
                for _ in 0..<samples.int(1...8) {
                    damaged[samples.int(0...damaged.count - 1)] = UInt8(samples.int(0...255))
                }
                var reader = NodePayloadReader()
                _ = try? reader.read(damaged)
            }
        }
    }

    @Test(arguments: [
        [], [0], [2], [255, 1],
        // A call of 5 bytes, of which 1 is there; a length of more than 64 bits.
        [1, 5, 0], [1, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255],
        // An output that begins no publication.
        [7, 7, 0x62, 5, 0x0A, 3, 0x61, 0x62, 0x63],
        // A body of nobody; one of n1, with 2 bytes of JSON, of which 1 is there, and of which 3 are there.
        [8, 0], [8, 6, 0x0A, 2, 0x6E, 0x31, 0x20, 2, 7], [8, 6, 0x0A, 2, 0x6E, 0x31, 0x20, 2, 7, 8, 9],
        // A list of bodies that ends in the middle of its first number.
        [9, 0x12, 2, 255], [10, 0x12, 2, 255],
        // What nobody has used; what a user "b" has used, of which the changes end in the middle of their number.
        [15, 0], [15, 2, 0x10, 1], [15, 5, 0x0A, 1, 0x62, 0x10, 255],
    ])
    func `a payload that no node sends is refused`(payload: [UInt8]) {
        var reader = NodePayloadReader()
        #expect(throws: NodeMessageError.self) { try reader.read(payload) }
    }

    @Test func `what more users have used than a node tells of is refused`() throws {
        let user = try #require(UserID("b"))
        let most = [UserUse](repeating: UserUse(user: user, reads: 1), count: UserUse.usersMax)
        #expect(try sent(.uses(most)) == [.uses(most)])
        #expect(throws: NodeMessageError.self) { try sent(.uses(most + most.prefix(1))) }
        #expect(NodePayload.payloads(of: .uses([])).isEmpty)
        // Numbers beyond ours are the greatest that we have.
        var reader = NodePayloadReader()
        let absurd: [UInt8] = [15, 14, 0x0A, 1, 0x62, 0x20] + [UInt8](repeating: 255, count: 9) + [1]
        #expect(try reader.read(absurd) == .uses([UserUse(user: user, bytes: .max)]))
    }

    @Test func `a frame with fewer bytes than it says is refused`() throws {
        let payload = try #require(
            NodePayload.payloads(of: .publications([try publication([frame(100)])])).first)
        var reader = NodePayloadReader()
        #expect(throws: NodeMessageError.self) { try reader.read(Array(payload.dropLast())) }
    }

    @Test func `the name of a body stands only where everybody is shown the same`() throws {
        let shared = SharedBody(json: [1], protobuf: nil)
        let reference = BodyReference(shared, name: BodyName(life: 1, number: 2))
        let session = try #require(SessionID("s"))
        guard case .frame(let frame) = frame(1) else {
            Issue.record("no frame")
            return
        }
        var publication = try publication([])
        publication.outputs = [.shared(.frameFor([session], frame), reference)]
        let payload = try #require(NodePayload.payloads(of: .publications([publication])).first)
        var reader = NodePayloadReader()
        #expect(throws: NodeMessageError.self) { try reader.read(payload) }
    }

    @Test func `a part that does not fit its message is refused`() throws {
        func part(length: UInt32, start: UInt32, bytes: Int = 1) -> [UInt8] {
            var part: [UInt8] = [NodePayload.Kind.part.rawValue] + Array(repeating: 1, count: 8)
            for number in [length, start] { withUnsafeBytes(of: number.littleEndian) { part += $0 } }
            return part + Array(repeating: NodePayload.Kind.part.rawValue, count: bytes)
        }
        var reader = NodePayloadReader()
        let most = UInt32(NodePayload.messageBytesMax)
        #expect(try reader.read(part(length: most, start: 0)) == nil)
        for wrong in [
            part(length: most + 1, start: 0), part(length: 4, start: 4), part(length: 4, start: .max),
            part(length: 4, start: 2, bytes: 3), part(length: 4, start: 0, bytes: 0),
            // Whole, but not what its check says.
            part(length: 4, start: 0, bytes: 4),
        ] {
            #expect(throws: NodeMessageError.self) { try reader.read(wrong) }
        }
    }
}
