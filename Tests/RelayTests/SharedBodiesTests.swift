import ChatModel
import Testing

@testable import Relay
@testable import RoomProtocol

/// What a node with viewers on many others sends to whom, and what it can send again.
@Suite struct `Shared bodies` {
    private let origin: NodeID
    private let room: RoomID

    init() throws {
        origin = try #require(NodeID("origin"))
        room = try #require(RoomID("live"))
    }

    private func nodes(_ count: Int) throws -> [NodeID] {
        // Sorted.
        try (0..<count).map { try #require(NodeID("n\(100 + $0)")) }
    }

    private func frame(_ bytes: Int, _ byte: UInt8 = 7) -> RoomOutput {
        .frame(
            SharedFrame(
                traffic: .messages, json: Array(repeating: byte, count: bytes), keptSeqs: 4...4, unkept: 0, barrage: 0))
    }

    private func turn(_ nodes: [NodeID], _ outputs: [NodePublication.Output], in room: RoomID? = nil)
        -> [NodeID: [NodePublication]]
    {
        let publication = NodePublication(room: room ?? self.room, term: 2, lanes: [0], outputs: outputs)
        return Dictionary(uniqueKeysWithValues: nodes.map { ($0, [publication]) })
    }

    private func bodies(_ messages: [NodeMessage]) -> [RelayedBody] {
        messages.compactMap { if case .body(let body) = $0 { body } else { nil } }
    }

    private func publications(_ messages: [NodeMessage]) -> [NodePublication] {
        messages.flatMap { message -> [NodePublication] in
            if case .publications(let publications) = message { publications } else { [] }
        }
    }

    private func isNamed(_ output: NodePublication.Output) -> Bool {
        if case .shared = output { true } else { false }
    }

    @Test func `eight nodes get the bytes in their publications`() throws {
        var shared = SharedBodies(origin: origin, life: 3)
        let turn = turn(try nodes(8), [.all(frame(1_000))])
        let sent = shared.messages(of: turn, at: 0) { _ in true }
        #expect(sent.count == 8 && sent.allSatisfy { $0.messages == [.publications(turn[$0.node] ?? [])] })
        #expect(shared.nextForget == nil)
    }

    @Test func `of nine nodes each gets the name in its place, and three get the body before it, for all`() throws {
        var shared = SharedBodies(origin: origin, life: 3)
        let nodes = try nodes(9)
        let session = try #require(SessionID("s1"))
        let outputs: [NodePublication.Output] = [
            .lane(0, .retry(session, request: 1)), .all(frame(1_000)), .all(.gap(5...6)), .all(frame(1_000, 8)),
            .lane(1, frame(1_000)), .all(frame(100)),
        ]
        let turn = turn(nodes, outputs)
        let sent = shared.messages(of: turn, at: 0) { _ in true }
        #expect(Set(sent.map(\.node)) == Set(nodes))
        for (_, messages) in sent {
            let publication = try #require(publications(messages).first)
            #expect(publication.outputs.map(isNamed) == [false, true, false, true, false, false])
            #expect(publication.outputs[0] == outputs[0] && publication.outputs[2] == outputs[2])
            #expect(publication.outputs[4...] == outputs[4...])
            guard case .publications? = messages.last else {
                Issue.record("a body comes behind what names it")
                continue
            }
        }
        let relays = sent.filter { !bodies($0.messages).isEmpty }
        #expect(relays.count == 3 && relays.allSatisfy { bodies($0.messages).map(\.name.number) == [1, 2] })
        let reached = relays.flatMap { relay in [relay.node] + bodies(relay.messages)[0].descendants }
        #expect(reached.count == 9 && Set(reached) == Set(nodes))
    }

    @Test func `a body and its name are what they were together`() throws {
        var shared = SharedBodies(origin: origin, life: 3)
        let frame = frame(1_000)
        let sent = shared.messages(of: turn(try nodes(9), [.all(frame)]), at: 0) { _ in true }
        let body = try #require(sent.lazy.flatMap { bodies($0.messages) }.first)
        for (_, messages) in sent {
            guard case .shared(let output, let reference)? = publications(messages).first?.outputs.first else {
                Issue.record("no name")
                continue
            }
            #expect(output.sharedFrame?.json == nil && output.sharedFrame?.keptSeqs == 4...4)
            #expect(reference.fits(body.body))
        }
        #expect(body.body.json == frame.sharedFrame?.json)
        var other = body.body
        other.json?[999] = 8
        #expect(!BodyReference(body.body, name: body.name).fits(other))
    }

    @Test func `who can't take a body from others gets the bytes, and does not count`() throws {
        var shared = SharedBodies(origin: origin, life: 3)
        let nodes = try nodes(10)
        let turn = turn(nodes, [.all(frame(1_000))])
        var sent = shared.messages(of: turn, at: 0) { $0 != nodes[0] && $0 != nodes[1] }
        #expect(sent.count == 10 && sent.allSatisfy { $0.messages == [.publications(turn[$0.node] ?? [])] })
        sent = shared.messages(of: turn, at: 0) { $0 != nodes[0] }
        #expect(sent.first { $0.node == nodes[0] }?.messages == [.publications(turn[nodes[0]] ?? [])])
        #expect(sent.flatMap { bodies($0.messages) }.flatMap(\.descendants).count == 6)
    }

    @Test func `rooms with few nodes are not shared because others have many, and have relays of their own`() throws {
        var shared = SharedBodies(origin: origin, life: 3)
        let nodes = try nodes(9)
        let other = try #require(RoomID("other"))
        var turn = turn(nodes, [.all(frame(1_000))])
        for node in nodes.prefix(8) {
            turn[node]?.append(NodePublication(room: other, term: 2, lanes: [0], outputs: [.all(frame(1_000))]))
        }
        let sent = shared.messages(of: turn, at: 0) { _ in true }
        #expect(sent.count == 9)
        for (node, messages) in sent {
            let named = publications(messages).map { isNamed($0.outputs[0]) }
            #expect(named == (node == nodes[8] ? [true] : [true, false]))
        }
        let rooms = try (0..<20).map { try #require(RoomID("live-\($0)")) }
        #expect(Set(rooms.map { RelayTree.order(nodes, of: $0)[0] }).count > 3)
    }

    @Test func `a frame twice in a turn is two bodies`() throws {
        var shared = SharedBodies(origin: origin, life: 3)
        let turn = turn(try nodes(9), [.all(frame(1_000)), .all(frame(1_000))])
        let sent = shared.messages(of: turn, at: 0) { _ in true }
        #expect(Set(sent.flatMap { bodies($0.messages) }.map(\.name.number)) == [1, 2])
        #expect(sent.count == 9)
        for (_, messages) in sent { #expect(publications(messages)[0].outputs.map(isNamed) == [true, true]) }
    }

    @Test func `what is asked for is sent again as long as it is kept`() throws {
        var limits = SharedBodies.Limits()
        limits.keptBytesMax = 2_500
        var shared = SharedBodies(origin: origin, life: 3, limits: limits)
        let nodes = try nodes(9)
        for number in 0..<3 as Range<UInt8> {
            _ = shared.messages(of: turn(nodes, [.all(frame(1_000, number))]), at: 10 * UInt64(number)) { _ in true }
        }
        #expect(shared.keptBytes == 2_000)
        var answers = shared.answers(to: BodyNames(life: 3, numbers: [3, 1, 2, 4]))
        #expect(bodies(answers).map(\.name.number) == [3, 2])
        #expect(bodies(answers).allSatisfy { $0.descendants.isEmpty && $0.origin == origin })
        #expect(answers.last == .bodiesGone(BodyNames(life: 3, numbers: [1, 4])))
        answers = shared.answers(to: BodyNames(life: 4, numbers: [3]))
        #expect(answers == [.bodiesGone(BodyNames(life: 4, numbers: [3]))])
        #expect(shared.nextForget == 5_010)
        shared.forget(at: 5_009)
        #expect(shared.keptBytes == 2_000)
        shared.forget(at: 5_010)
        #expect(shared.keptBytes == 1_000 && shared.nextForget == 5_020)
        shared.forget(at: 9_000)
        #expect(shared.keptBytes == 0 && shared.nextForget == nil)
    }
}
