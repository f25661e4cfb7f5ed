import ChatModel
import Testing

@testable import Relay
@testable import RoomProtocol

/// What a node publishes is performed in its order, whenever the bodies come that it names, and whether or not they come.
@Suite struct `Awaited bodies` {
    private var awaited = AwaitedBodies()
    private let origin: NodeID
    private let other: NodeID
    private let room: RoomID

    init() throws {
        origin = try #require(NodeID("origin"))
        other = try #require(NodeID("other"))
        room = try #require(RoomID("live"))
    }

    private func body(_ number: UInt64, of node: NodeID? = nil, life: UInt64 = 3, bytes: Int = 600) -> RelayedBody {
        RelayedBody(
            origin: node ?? origin, name: BodyName(life: life, number: number),
            body: SharedBody(
                json: Array(repeating: UInt8(truncatingIfNeeded: number), count: bytes), protobuf: [1, 2]),
            descendants: [])
    }

    private func frame(_ json: [UInt8]?, _ protobuf: [UInt8]?) -> RoomOutput {
        .frame(SharedFrame(traffic: .messages, json: json, protobuf: protobuf, unkept: 1, barrage: 0))
    }

    private func message(_ outputs: [NodePublication.Output]) -> NodeMessage {
        .publications([NodePublication(room: room, term: 1, lanes: [0], outputs: outputs)])
    }

    /// A publication that names these bodies.
    private func naming(_ numbers: UInt64..., bytes: Int = 600) -> NodeMessage {
        message(
            numbers.map { number in
                let body = body(number, bytes: bytes)
                return .shared(frame(nil, nil), BodyReference(body.body, name: body.name))
            })
    }

    /// The same with the bodies in their places.
    private func showing(_ numbers: UInt64..., bytes: Int = 600) -> NodeMessage {
        message(numbers.map { .all(frame(body($0, bytes: bytes).body.json, [1, 2])) })
    }

    /// A publication without a body.
    private func plain(_ number: UInt64) -> NodeMessage { message([.all(.gap(number...number))]) }

    private mutating func came(_ message: NodeMessage, bytes: Int = 100, from node: NodeID? = nil, at now: UInt64 = 0)
        -> [AwaitedBodies.Effect]
    {
        awaited.came(message, bytes: bytes, from: node ?? origin, at: now)
    }

    private mutating func came(_ body: RelayedBody, at now: UInt64 = 0) -> [AwaitedBodies.Effect] {
        awaited.came(body, at: now)
    }

    private func hear(_ messages: NodeMessage...) -> [AwaitedBodies.Effect] {
        messages.map { .hear($0, from: origin) }
    }

    private func ask(_ numbers: UInt64...) -> [AwaitedBodies.Effect] {
        [.ask(origin, BodyNames(life: 3, numbers: numbers))]
    }

    @Test mutating func `what names nothing is performed at once`() {
        let notice = NodeMessage.leads([ShardNotice(shard: ShardID(1), term: 1)])
        #expect(came(plain(1)) == hear(plain(1)))
        #expect(came(notice) == hear(notice))
        #expect(awaited.isIdle)
    }

    @Test mutating func `a body that is there already is put in its place`() {
        #expect(came(body(1)).isEmpty && !awaited.isIdle)
        #expect(came(naming(1)) == hear(showing(1)))
        #expect(awaited.look(at: 1).isEmpty)
        #expect(awaited.isIdle)
    }

    @Test mutating func `what comes behind a body that is missing waits, and then goes on in order`() {
        let notice = NodeMessage.leads([ShardNotice(shard: ShardID(1), term: 1)])
        #expect(came(naming(1, 2)).isEmpty)
        #expect(came(plain(1)).isEmpty)
        #expect(came(naming(3)).isEmpty)
        #expect(came(notice).isEmpty)
        #expect(came(body(3)).isEmpty)
        #expect(came(body(2)).isEmpty)
        #expect(came(body(1)) == hear(showing(1, 2), plain(1), showing(3), notice))
        #expect(awaited.isIdle)
    }

    @Test mutating func `only the node that has named it waits`() {
        #expect(came(naming(1)).isEmpty)
        #expect(came(plain(1), from: other) == [.hear(plain(1), from: other)])
        #expect(came(body(1, of: other)).isEmpty)
        #expect(came(body(1)) == hear(showing(1)))
    }

    @Test mutating func `a body that does not come is asked for, ever more seldom, then the connection is dropped`() {
        #expect(came(naming(1)).isEmpty)
        #expect(came(naming(2), at: 20).isEmpty)
        #expect(awaited.look(at: 49).isEmpty)
        #expect(awaited.look(at: 50) == ask(1))
        #expect(awaited.look(at: 70) == ask(2))
        #expect(awaited.look(at: 149).isEmpty)
        #expect(awaited.look(at: 150) == ask(1))
        #expect(came(body(2), at: 160).isEmpty)
        var (asked, dropped) = ([UInt64](), UInt64?.none)
        for now in 151...10_000 as ClosedRange<UInt64> where dropped == nil {
            switch awaited.look(at: now) {
            case []: continue
            case ask(1): asked.append(now)
            case [.drop(origin)]: dropped = now
            case let effects: Issue.record("\(effects)")
            }
        }
        #expect(asked == [350, 750, 1_250, 1_750, 2_250, 2_750])
        #expect(dropped == 3_250)
        #expect(awaited.isIdle)
        #expect(came(plain(1), at: 4_000) == hear(plain(1)), "of the next connection")
    }

    @Test mutating func `a process that stood still asks before it gives up`() {
        #expect(came(naming(1)).isEmpty)
        #expect(awaited.look(at: 60_000) == ask(1))
        #expect(came(body(1), at: 60_001) == hear(showing(1)))
    }

    @Test mutating func `what the origin does not have any more ends the connection, unless it has come`() {
        #expect(came(naming(1)).isEmpty)
        #expect(came(naming(2)).isEmpty)
        #expect(awaited.gone(BodyNames(life: 3, numbers: [7]), from: origin).isEmpty)
        #expect(awaited.gone(BodyNames(life: 3, numbers: [1]), from: other).isEmpty)
        #expect(awaited.gone(BodyNames(life: 4, numbers: [1]), from: origin).isEmpty)
        #expect(came(body(1)) == hear(showing(1)))
        #expect(awaited.gone(BodyNames(life: 3, numbers: [1]), from: origin).isEmpty)
        #expect(awaited.gone(BodyNames(life: 3, numbers: [1, 2]), from: origin) == [.drop(origin)])
        #expect(awaited.isIdle)
    }

    @Test mutating func `what is not what was meant is as good as lost`() {
        var (wrong, short) = (body(1), body(1))
        wrong.body.json?[599] = 0
        short.body.json?.removeLast()
        #expect(came(wrong).isEmpty)
        #expect(came(naming(1)).isEmpty)
        #expect(came(wrong).isEmpty && came(short).isEmpty && came(body(1, life: 4)).isEmpty)
        #expect(awaited.look(at: 50) == ask(1))
        #expect(came(body(1)) == hear(showing(1)))
    }

    @Test mutating func `a body that comes more than once is shown once`() {
        #expect(came(body(1)).isEmpty && came(body(1)).isEmpty)
        #expect(came(naming(1)) == hear(showing(1)))
        #expect(came(naming(2)).isEmpty)
        #expect(came(naming(3)).isEmpty)
        #expect(came(body(3)).isEmpty && came(body(3)).isEmpty)
        #expect(came(body(2)) == hear(showing(2), showing(3)))
        #expect(came(body(2)).isEmpty && came(body(3)).isEmpty && came(body(1)).isEmpty)
        #expect(came(plain(1)) == hear(plain(1)))
        #expect(awaited.look(at: 3_000).isEmpty)
        #expect(awaited.isIdle)
    }

    @Test mutating func `when the connection ends, what waits is forgotten with the bodies for it`() {
        #expect(came(naming(1)).isEmpty)
        #expect(came(body(2)).isEmpty)
        #expect(came(naming(9), from: other).isEmpty)
        awaited.onNodeLost(origin)
        #expect(came(body(1)).isEmpty)
        #expect(came(plain(1)) == hear(plain(1)))
        #expect(came(naming(2)).isEmpty)
        #expect(came(body(9, of: other)) == [.hear(showing(9), from: other)])
        #expect(came(body(2)) == hear(showing(2)))
    }

    @Test mutating func `too much that waits ends the connection`() {
        var limits = AwaitedBodies.Limits()
        limits.heldBytesMax = 2_000
        awaited = AwaitedBodies(limits: limits)
        #expect(came(naming(1), bytes: 100).isEmpty)
        #expect(came(plain(1), bytes: 1_900).isEmpty)
        #expect(came(plain(2), bytes: 1) == [.drop(origin)])
        #expect(came(naming(1), bytes: 100).isEmpty)
        #expect(came(naming(2, 3), bytes: 700).isEmpty)
        #expect(came(body(2)).isEmpty, "602 bytes more")
        #expect(came(body(3)) == [.drop(origin)])
        #expect(awaited.isIdle)
        #expect(came(naming(1), bytes: 5_000).isEmpty == false, "one that is too big by itself")
    }

    @Test mutating func `of bodies that nobody names only some are kept, for a while, and the rest is asked for`() {
        var limits = AwaitedBodies.Limits()
        limits.earlyBytesMax = 1_300
        awaited = AwaitedBodies(limits: limits)
        for number in 1...3 as ClosedRange<UInt64> { #expect(came(body(number), at: number).isEmpty) }
        #expect(came(naming(2), at: 4) == hear(showing(2)))
        #expect(came(naming(1), at: 4).isEmpty)
        #expect(awaited.look(at: 54) == ask(1))
        #expect(came(body(1), at: 60) == hear(showing(1)))
        #expect(awaited.look(at: 3_002).isEmpty && !awaited.isIdle)
        #expect(awaited.look(at: 3_003).isEmpty && awaited.isIdle)
        #expect(came(naming(3), at: 3_004).isEmpty)
        limits.earlyMax = 2
        awaited = AwaitedBodies(limits: limits)
        for number in 1...3 as ClosedRange<UInt64> { #expect(came(body(number, bytes: 1)).isEmpty) }
        #expect(came(naming(1, bytes: 1)).isEmpty)
        #expect(came(body(1, bytes: 1)) == hear(showing(1, bytes: 1)))
        #expect(came(naming(3, bytes: 1)) == hear(showing(3, bytes: 1)))
    }

    @Test mutating func `a node that names a body twice is dropped before it waits for ever`() {
        #expect(came(naming(1)).isEmpty)
        #expect(came(naming(1)).isEmpty)
        #expect(came(body(1)) == hear(showing(1)))
        #expect(awaited.look(at: 1) == [.drop(origin)])
        #expect(awaited.isIdle)
    }

    @Test mutating func `many are asked for in turns`() {
        for number in 0..<300 as Range<UInt64> { #expect(came(naming(number, bytes: 0)).isEmpty) }
        guard case .ask(origin, let first)? = awaited.look(at: 50).first,
            case .ask(origin, let second)? = awaited.look(at: 51).first
        else {
            Issue.record("nobody is asked")
            return
        }
        #expect(first.numbers.count == 256 && second.numbers.count == 44)
        #expect(Set(first.numbers + second.numbers).count == 300)
        #expect(awaited.look(at: 52).isEmpty)
    }
}
