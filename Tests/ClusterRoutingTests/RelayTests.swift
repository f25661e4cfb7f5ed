import ChatModel
import EventLoop
import NodeLinkCore
import Testing

@testable import ClusterRouting
@testable import Relay
@testable import RoomProtocol

/// A leader with viewers on many nodes sends the bytes to a few; every node gets every output once and in order,
/// whatever becomes of those who pass them on.
@Suite struct `Publications by relays` {
    private let room: RoomID
    private let session: SessionID

    init() throws {
        room = try #require(RoomID("live"))
        session = try #require(SessionID("s1"))
    }

    private static let frameBytes = 2_000

    /// What a turn has for every node: an answer, and frames for everybody, of which one is small.
    private func outputs(_ turn: Int) -> [RoomOutput] {
        func frame(_ bytes: Int) -> RoomOutput {
            var frame = SharedFrameWriter([]).frame(.messages, unkept: turn)
            frame.json = Array(repeating: UInt8(truncatingIfNeeded: turn), count: bytes)
            return .frame(frame)
        }
        return [.retry(session, request: UInt32(turn)), frame(Self.frameBytes), frame(20), frame(Self.frameBytes + 1)]
    }

    private func expected(_ turns: ClosedRange<Int>) -> [RoomOutput] { turns.flatMap(outputs) }

    /// Publishes some turns to all of them, on the room's loop.
    private func publish(
        _ turns: ClosedRange<Int>, from origin: RelayStation, to others: [RelayStation], rooms: EventLoop
    ) async {
        for turn in turns {
            // Bytes that are made once, as a room makes them.
            let outputs: [NodePublication.Output] = outputs(turn).enumerated().map { place, output in
                place == 0 ? .lane(0, output) : .all(output)
            }
            let publication = NodePublication(room: room, term: 1, lanes: [0], outputs: outputs)
            let all = Dictionary(uniqueKeysWithValues: others.map { ($0.id, [publication]) })
            await rooms.run { origin.router.deliver(all) }
        }
    }

    private func start(_ count: Int, links: EventLoop, rooms: EventLoop) async throws -> [RelayStation] {
        var stations: [RelayStation] = []
        for number in 0..<count {
            stations.append(try await RelayStation.start("n\(10 + number)", links: links, rooms: rooms))
        }
        return stations
    }

    /// Those to whom the origin sends the bodies.
    private func relays(_ others: [RelayStation]) -> [RelayStation] {
        let relays = RelayTree.branches(to: RelayTree.order(others.map(\.id), of: room)).map(\.node)
        return others.filter { relays.contains($0.id) }
    }

    @Test func `thirteen others get everything by a few relays, and without them when they are gone`() async throws {
        try await withLoops { links, rooms in
            let stations = try await start(14, links: links, rooms: rooms)
            for (place, station) in stations.enumerated() {
                for other in stations[..<place] { try await station.link(to: other) }
            }
            let (origin, others) = (stations[0], Array(stations.dropFirst()))
            await publish(1...50, from: origin, to: others, rooms: rooms)
            for station in others { #expect(try await station.outputs(200) == expected(1...50)) }
            // Two frames of a turn are shared.
            for station in others { #expect(await station.run { $0.bodies.values.reduce(0, +) } >= 100) }
            let relays = relays(others)
            #expect(relays.count == 4)
            for relay in relays { #expect(await relay.run { $0.bodies[origin.id] ?? 0 } >= 100) }

            // While it publishes, relays crash.
            await publish(51...60, from: origin, to: others, rooms: rooms)
            await relays[0].run { $0.kill() }
            await publish(61...70, from: origin, to: others, rooms: rooms)
            await relays[1].run { $0.kill() }
            await publish(71...80, from: origin, to: others, rooms: rooms)
            let survivors = others.filter { station in !relays.prefix(2).contains { $0.id == station.id } }
            await publish(81...100, from: origin, to: survivors, rooms: rooms)
            for station in survivors { #expect(try await station.outputs(400) == expected(1...100)) }
            #expect(await origin.run { Set($0.ends.keys) } == Set(relays.prefix(2).map(\.id)))
        }
    }

    @Test func `bodies that no relay passes on are asked for at the origin, and come in order`() async throws {
        try await withLoops { links, rooms in
            let stations = try await start(10, links: links, rooms: rooms)
            let (origin, others) = (stations[0], Array(stations.dropFirst()))
            // Relays reach nobody else.
            for station in others { try await station.link(to: origin) }
            await publish(1...20, from: origin, to: others, rooms: rooms)
            for station in others { #expect(try await station.outputs(80) == expected(1...20)) }
            // Three are in the tree, the others are answered.
            for station in others { #expect(await station.run { $0.bodies.keys.sorted() } == [origin.id]) }
            #expect(await origin.run { $0.requests } >= 6)
            #expect(await origin.run { $0.ends } == [:])
        }
    }

    @Test func `up to eight others get the bytes from the leader, and no bodies`() async throws {
        try await withLoops { links, rooms in
            let stations = try await start(9, links: links, rooms: rooms)
            let (origin, others) = (stations[0], Array(stations.dropFirst()))
            for station in others { try await station.link(to: origin) }
            await publish(1...5, from: origin, to: others, rooms: rooms)
            for station in others {
                #expect(try await station.outputs(20) == expected(1...5))
                #expect(await station.run { $0.bodies } == [:])
            }
        }
    }
}
