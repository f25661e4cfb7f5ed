import ChatModel
import NodeLink
import EventLoop
import NodeLinkCore
import RoomProtocol
import Testing

@testable import ClusterRouting

/// What is sent because a node is reached again goes out on that connection, also when it comes in the turn in which the
/// former one has ended: else whoever waits for the answer would wait for ever.
@Suite(.timeLimit(.minutes(3))) struct LinkEndTests {
    private func publication(_ seq: UInt64) throws -> NodeMessage {
        .publications([
            NodePublication(
                room: try #require(RoomID("live")), term: 1, lanes: [0], outputs: [.all(.gap(seq...seq))])
        ])
    }

    /// - Parameter isSame: whether what is sent comes from the loop of the links itself.
    @Test(arguments: [true, false])
    func `a node that begins anew takes its former self's place and is told everything`(isSame: Bool) async throws {
        try await withLoops { links, rooms in
            let sending = isSame ? links : rooms
            let a = try await RelayStation.start("a", links: links, rooms: sending)
            let b = try await RelayStation.start("b", links: links, rooms: rooms)
            let router = a.router
            let (first, second) = (try publication(1), try publication(2))
            // As rooms and lanes do: on their own loop, which hears of it in the order of what happens.
            await a.run { node in
                node.onUp = { other, count in
                    let message = count == 1 ? first : second
                    if isSame {
                        router.send(message, on: .publications, to: other)
                    } else {
                        rooms.execute { router.send(message, on: .publications, to: other) }
                    }
                }
            }
            try await b.link(to: a)
            #expect(try await b.outputs(1) == [.gap(1...1)])
            // Its boot is another one: the connection of before ends in the turn in which this one comes up.
            let next = try await RelayStation.start("b", boot: 2, links: links, rooms: rooms)
            try await next.link(to: a)
            #expect(try await next.outputs(1) == [.gap(2...2)])
            let ends = await a.run { $0.ends[b.id] ?? 0 }
            // The former self runs on here, and may have called again by now.
            #expect(ends >= 1)
            for station in [a, b, next] { await station.run { $0.kill() } }
        }
    }
}
