import ChatModel
import EventLoop
import NodeLinkCore
import RoomProtocol
import Testing
import WaitTestKit

@testable import ClusterRouting

/// On the way from one version to the next a node is sent nothing that its version does not know: it would drop the link.
@Suite(.timeLimit(.minutes(3))) struct OlderVersionTests {
    @Test func `a node whose link has no pulses is sent none, asked for none, and nothing is made of its silence`()
        async throws
    {
        let room = try #require(RoomID("live"))
        let shard = ShardID(3)
        try await withLoops { links, rooms in
            let me = try await RelayStation.start("a", links: links, rooms: rooms)
            let old = try await RelayStation.start(
                "b", versions: 1...LinkHello.pulseVersion - 1, links: links, rooms: rooms)
            let new = try await RelayStation.start("c", links: links, rooms: rooms)
            for other in [old, new] { try await other.link(to: me) }
            let router = me.router
            let notice = ShardNotice(shard: shard, term: 2)
            let tallies = ShardTallies(shard: shard, lane: 0, term: 2)
            let request = TallyRequest(shard: shard, lane: 0)
            let recount = LaneRecount(lane: 0, rooms: [room])
            await rooms.run { [old, new] in
                router.pulse([notice], [:])
                for other in [old, new] {
                    router.tell(tallies, to: other.id)
                    router.ask(request, of: other.id)
                    router.recount(recount, at: other.id)
                    router.deliver([
                        other.id: [NodePublication(room: room, term: 2, lanes: [0], outputs: [.all(.gap(1...1))])]
                    ])
                }
            }
            // What comes behind it on the same lane has come.
            for other in [old, new] { #expect(try await other.outputs(1) == [.gap(1...1)]) }
            let pulse = NodeMessage.pulses([ShardPulse(shard: shard, term: 2, lanes: [])])
            let told = try await new.changes.wait(for: "all that a node of now is told") {
                let told = await new.run { $0.others }
                return told.count == 4 ? told : nil
            }
            for message in [pulse, .tallies(tallies), .tallyRequest(request), .recount(recount)] {
                #expect(told.contains(message))
            }
            // What a version does not know ends the link, whatever lane it comes on.
            #expect(await old.run { $0.others } == [])
            #expect(!router.saysPulses(old.id) && router.saysPulses(new.id) && router.saysPulses(me.id))
            for station in [me, old, new] { await station.run { $0.kill() } }
        }
    }

    @Test func `what users have used is told to every node whose version knows it`() async throws {
        let room = try #require(RoomID("live"))
        let uses = [UserUse(user: try #require(UserID("ann")), changes: 30, reads: 6, bytes: 1 << 40)]
        try await withLoops { links, rooms in
            let me = try await RelayStation.start("a", links: links, rooms: rooms)
            let old = try await RelayStation.start(
                "b", versions: 1...LinkHello.usesVersion - 1, links: links, rooms: rooms)
            let new = try await RelayStation.start("c", links: links, rooms: rooms)
            for other in [old, new] { try await other.link(to: me) }
            let router = me.router
            // As a gateway does, on none of the loops.
            router.tell(uses)
            let told = try await new.changes.wait(for: "what users have used") {
                let told = await new.run { $0.others }
                return told.isEmpty ? nil : told
            }
            #expect(told == [.uses(uses)])
            await rooms.run {
                router.deliver([
                    old.id: [NodePublication(room: room, term: 2, lanes: [0], outputs: [.all(.gap(1...1))])]
                ])
            }
            #expect(try await old.outputs(1) == [.gap(1...1)])
            #expect(await old.run { $0.others } == [])
            for station in [me, old, new] { await station.run { $0.kill() } }
        }
    }

    @Test func `a session that an older node hands over has its whole rates`() throws {
        let user = try #require(UserID("u"))
        let session = HandedSession(user: user, anonymous: false, device: .web, startedAt: Timestamp(1))
        var reader = NodePayloadReader()
        var read: NodeMessage?
        for payload in NodePayload.payloads(of: .answer(id: 1, .success(.session(session)))) {
            read = try reader.read(payload)
        }
        #expect(read == .answer(id: 1, .success(.session(session))))
        guard case .answer(_, .success(.session(let handed))) = read else { return }
        #expect(handed.levels == nil)
    }
}
