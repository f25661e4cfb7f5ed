import ChatModel
import NodeLink
import EventLoop
import NodeLinkCore
import Testing
import WaitTestKit

@Suite(.timeLimit(.minutes(3))) struct LaneTests {
    private static let a = Station.node("a")
    private static let b = Station.node("b")

    private func connected(_ loop: EventLoop, _ body: (Station, Station) async throws -> Void) async throws {
        let a = try await Station.start(Station.hello("a"), on: loop)
        let b = try await Station.start(Station.hello("b"), on: loop)
        await a.know(b)
        try await a.up(b.id)
        try await b.up(a.id)
        try await body(a, b)
    }

    private static let lanes: [LinkLane] = [.consensus, .calls, .publications, .bulk]

    /// Frames with their number in front; sizes from nothing to `largest`.
    private static func frames(_ count: Int, largest: Int, mark: UInt8) -> [[UInt8]] {
        (0..<count).map { number in
            let size = [0, 1, 300, largest][number % 4]
            return [mark, UInt8(truncatingIfNeeded: number)] + [UInt8](repeating: mark, count: size)
        }
    }

    @Test func `frames of a lane come in order, each once, both ways, big and small`() async throws {
        try await withLoop { loop in
            try await connected(loop) { a, b in
                let there = Dictionary(
                    uniqueKeysWithValues: Self.lanes.map {
                        ($0, Self.frames(80, largest: $0 == .bulk ? 40_000 : 120_000, mark: $0.rawValue))
                    })
                let back = there.mapValues { $0.map { [99] + $0 } }
                // From both at once, the lanes mixed.
                let sent = await loop.run {
                    (0..<80).allSatisfy { number in
                        Self.lanes.allSatisfy { lane in
                            guard let one = there[lane]?[number], let other = back[lane]?[number] else { return false }
                            return a.box.value.link.send(one, on: lane, to: Self.b)
                                && b.box.value.link.send(other, on: lane, to: Self.a)
                        }
                    }
                }
                #expect(sent)
                let largest = [UInt8](repeating: 3, count: LinkLane.consensus.frameBytesMax)
                #expect(await a.send(largest, on: .consensus, to: b.id))
                #expect(await a.send(largest + [0], on: .consensus, to: b.id) == false)
                try await b.wait("all frames") { $0.arrivals.count == 321 }
                try await a.wait("all frames") { $0.arrivals.count == 320 }
                for lane in Self.lanes {
                    let more = lane == .consensus ? [largest] : []
                    let arrived = await b.payloads(lane, from: a.id)
                    #expect(arrived == (there[lane] ?? []) + more, "\(lane)")
                    let returned = await a.payloads(lane, from: b.id)
                    #expect(returned == back[lane], "\(lane)")
                }
            }
        }
    }

    @Test func `consensus and calls overtake a full bulk lane, which refuses and recovers`() async throws {
        try await withLoop { loop in
            try await connected(loop) { a, b in
                await b.run { $0.heldLanes = [.bulk] }
                let piece = [UInt8](repeating: 4, count: 100_000)
                let window = try #require(LinkLane.bulk.windowBytes)
                var taken = 0
                // Until the receiver's window and the sender's queue are full.
                try await poll("a full lane") {
                    while await a.send(piece, on: .bulk, to: b.id) { taken += 1 }
                    let arrived = await b.payloads(.bulk, from: a.id).count
                    return arrived * piece.count >= window
                }
                let arrived = await b.payloads(.bulk, from: a.id).count
                // From here on nothing moves; before, there may have been room now and then.
                while await a.send(piece, on: .bulk, to: b.id) { taken += 1 }
                await a.run { $0.events = [] }
                #expect(arrived < taken)
                #expect(taken * piece.count <= window + LinkLane.bulk.queueBytesMax + piece.count)
                #expect(await a.send([1], on: .consensus, to: b.id))
                #expect(await a.send([2], on: .calls, to: b.id))
                try await b.wait("what overtakes") {
                    $0.payloads(.consensus, from: Self.a) == [[1]] && $0.payloads(.calls, from: Self.a) == [[2]]
                }
                #expect(await b.payloads(.bulk, from: a.id).count == arrived)
                #expect(await !a.events.contains(.hasRoom(b.id, .bulk)))
                await b.run { $0.release() }
                try await b.wait("the rest") { [taken] in $0.payloads(.bulk, from: Self.a).count == taken }
                try await a.wait("room") { $0.events.contains(.hasRoom(Self.b, .bulk)) }
                #expect(await a.send([5], on: .bulk, to: b.id))
                try await b.wait("one more") { $0.payloads(.bulk, from: Self.a).last == [5] }
            }
        }
    }

    @Test func `a window many times over passes when the receiver deals with what comes`() async throws {
        try await withLoop { loop in
            try await connected(loop) { a, b in
                let piece = [UInt8](repeating: 4, count: 200_000)
                var taken = 0
                while taken < 30 {
                    if await a.send(piece, on: .bulk, to: b.id) {
                        taken += 1
                    } else {
                        try await a.wait("room") { $0.link.waitingBytes(on: .bulk, to: Self.b) < 500_000 }
                    }
                }
                try await b.wait("all") { $0.payloads(.bulk, from: Self.a).count == 30 }
            }
        }
    }

    @Test func `another loop sends in order, and what is not taken comes back`() async throws {
        try await withLoop { loop in
            try await connected(loop) { a, b in
                try await withLoop { other in
                    let changes = Changes()
                    let (sender, returned) = await makeSender(of: a, on: other, changes)
                    for turn in 0..<10 as Range<UInt8> {
                        let sent = await other.run {
                            (0..<20 as Range<UInt8>).allSatisfy {
                                sender.value.send([turn, $0], on: .calls, to: Self.b)
                            }
                        }
                        #expect(sent)
                    }
                    let nobody = Station.node("nobody")
                    let isTaken = await other.run {
                        // Of whom nothing was heard nobody is sent anything; of an end this loop may not have heard.
                        let isKnown = sender.value.send([8], on: .calls, to: nobody)
                        sender.value.note(nobody, reachedBy: LinkPeers.ConnectionID(.max))
                        return !isKnown && sender.value.send([9], on: .calls, to: nobody)
                    }
                    #expect(isTaken)
                    try await b.wait("all frames") { $0.arrivals.count == 200 }
                    let expected = (0..<10).flatMap { turn in (0..<20).map { [UInt8(turn), UInt8($0)] } }
                    #expect(await b.payloads(.calls, from: a.id) == expected)
                    _ = try await changes.wait(for: "the frame to come back") {
                        await other.run { returned.value.map(\.payload) } == [[9]] ? true : nil
                    }
                    // More than may be on its way is not taken.
                    let big = [UInt8](repeating: 0, count: 4 << 20)
                    let takenMax = LinkSender.waitingBytesMax / big.count
                    let taken = await other.run {
                        (0...takenMax).map { _ in sender.value.send(big, on: .consensus, to: nobody) }
                    }
                    #expect(taken == [Bool](repeating: true, count: takenMax) + [false])
                    _ = try await changes.wait(for: "the others to come back") {
                        await other.run { returned.value.count } == 1 + takenMax ? true : nil
                    }
                    let isTakenAfterwards = await other.run {
                        sender.value.close()
                        return sender.value.send([1], on: .calls, to: Self.b)
                    }
                    #expect(!isTakenAfterwards)
                }
            }
        }
    }

    @Test func `what a loop has sent before it heard of an end does not go out on the next connection`() async throws {
        try await withLoop { loop in
            try await connected(loop) { a, b in
                try await withLoop { other in
                    let link = await loop.run { LoopBound(onLoop: a.box.value.link, loop: loop) }
                    var senders: [LoopBound<LinkSender>] = []
                    let changes = Changes()
                    let lost = await other.run { LoopBound(onLoop: [LinkParcel](), loop: other) }
                    let former = await loop.run { link.value.connection(to: Self.b) }
                    // Of the link's own loop too.
                    for place in [other, loop] {
                        senders.append(
                            await place.run {
                                let sender = LinkSender(loop: place, link: link) { parcels in
                                    lost.value += parcels
                                    changes.note()
                                }
                                sender.note(Self.b, reachedBy: former)
                                return LoopBound(onLoop: sender, loop: place)
                            })
                    }
                    await loop.run { link.value.drop(Self.b, because: LinkError(.closed, "the test ends it")) }
                    try await a.wait("the next connection") { recorded in
                        recorded.events.count { if case .up(Self.b, _, _, _) = $0 { true } else { false } } == 2
                    }
                    let next = await loop.run { link.value.connection(to: Self.b) }
                    for (place, sender) in senders.enumerated() {
                        let areTaken = await sender.loop.run {
                            let first = sender.value.send([1], on: .publications, to: Self.b)
                            // It knows of the end no more than the frame: the next connection stays.
                            sender.value.drop(Self.b, because: LinkError(.closed, "too much waits"))
                            sender.value.note(Self.b, reachedBy: nil)
                            let between = sender.value.send([1], on: .publications, to: Self.b)
                            sender.value.note(Self.b, reachedBy: next)
                            return [first, between, sender.value.send([2], on: .publications, to: Self.b)]
                        }
                        // On the link's own loop it is known at once that the first one is lost; from the other it comes
                        // back.
                        #expect(areTaken == [place == 0, false, true])
                    }
                    _ = try await changes.wait(for: "what is lost to come back") {
                        await other.run { lost.value.map(\.payload) } == [[1]] ? true : nil
                    }
                    try await b.wait("what was sent behind the end") { recorded in
                        recorded.arrivals.filter { $0.payload == [2] }.count == 2
                    }
                    #expect(await b.payloads(.publications, from: a.id) == [[2], [2]])
                    let ends = await a.events.count { if case .down = $0 { true } else { false } }
                    #expect(ends == 1)
                }
            }
        }
    }

    /// A sender of `other` over the station's link, and what has come back to it.
    private func makeSender(
        of station: Station, on other: EventLoop, _ changes: Changes
    ) async -> (sender: LoopBound<LinkSender>, returned: LoopBound<[LinkParcel]>) {
        let (link, reached) = await station.box.loop.run {
            let link = station.box.value.link
            let reached = link.reached.map { ($0, link.connection(to: $0)) }
            return (LoopBound(onLoop: link, loop: station.box.loop), reached)
        }
        return await other.run {
            let returned = LoopBound(onLoop: [LinkParcel](), loop: other)
            let sender = LinkSender(loop: other, link: link) {
                returned.value += $0
                changes.note()
            }
            for (node, connection) in reached { sender.note(node, reachedBy: connection) }
            return (LoopBound(onLoop: sender, loop: other), returned)
        }
    }

    @Test func `what came back while a node was not reached does not end the connection that comes then`() async throws
    {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let b = try await Station.start(Station.hello("b"), on: loop)
            try await withLoop { other in
                let changes = Changes()
                let (sender, returned) = await makeSender(of: a, on: other, changes)
                let isTaken = await other.run {
                    // It has not heard of the end of that one.
                    sender.value.note(Self.b, reachedBy: LinkPeers.ConnectionID(.max))
                    return sender.value.send([1], on: .calls, to: Self.b)
                }
                #expect(isTaken)
                let parcels = try await changes.wait(for: "the frame to come back") {
                    let all = await other.run { returned.value }
                    return all.isEmpty ? nil : all
                }
                await a.know(b)
                try await a.up(b.id)
                try await b.up(a.id)
                await a.run { recorded in
                    for parcel in parcels {
                        recorded.link.drop(parcel, because: LinkError(.closed, "too much waits"))
                    }
                }
                let isSent = await a.send([2], on: .calls, to: b.id)
                #expect(isSent)
                try await b.wait("a frame of the connection") { $0.payloads(.calls, from: Self.a) == [[2]] }
                #expect(await !a.events.contains(.down(b.id)))
            }
        }
    }

    @Test func `a frame that a full lane gives back ends its connection once, and no later one`() async throws {
        try await withLoop { loop in
            try await connected(loop) { a, b in
                try await withLoop { other in
                    let changes = Changes()
                    let (sender, returned) = await makeSender(of: a, on: other, changes)
                    let piece = [UInt8](repeating: 4, count: 100_000)
                    // What a turn sends is handed over together, before anything of it is written.
                    let areTaken = await other.run {
                        (0..<LinkLane.bulk.queueBytesMax / piece.count + 2).allSatisfy { _ in
                            sender.value.send(piece, on: .bulk, to: Self.b)
                        }
                    }
                    #expect(areTaken)
                    let parcel = try await changes.wait(for: "a frame to come back") {
                        await other.run { returned.value.first }
                    }
                    let error = LinkError(.closed, "too much waits")
                    await a.run { $0.link.drop(parcel, because: error) }
                    #expect(await a.events.contains(.down(b.id)))
                    try await a.wait("the next connection") { recorded in
                        recorded.events.count { if case .up(Self.b, _, _, _) = $0 { true } else { false } } == 2
                    }
                    await a.run { $0.link.drop(parcel, because: error) }
                    let isSent = await a.send([2], on: .consensus, to: b.id)
                    #expect(isSent)
                    try await b.wait("a frame of the next connection") {
                        $0.payloads(.consensus, from: Self.a) == [[2]]
                    }
                    let ends = await a.events.count { if case .down = $0 { true } else { false } }
                    #expect(ends == 1)
                }
            }
        }
    }
}
