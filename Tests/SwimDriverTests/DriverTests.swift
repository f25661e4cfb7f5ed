import ChatModel
import EventLoop
import Swim
import SwimDriver
import Testing
import Transport

/// Several drivers over loopback sockets: each waits for what it is told.
@Suite(.timeLimit(.minutes(3))) struct DriverTests {
    /// Three that know each other, the later ones through the first.
    private static func three(_ loop: EventLoop, keys: [UInt8] = [1]) async throws -> [Participant] {
        let first = try await Participant.start("n1", on: loop, keys: keys)
        let others = [
            try await Participant.start("n2", on: loop, seeds: [first.address], keys: keys),
            try await Participant.start("n3", on: loop, seeds: [first.address], keys: keys),
        ]
        let all = [first] + others
        try await expectAlive(all)
        return all
    }

    /// Everybody holds exactly these for alive.
    private static func expectAlive(_ participants: [Participant]) async throws {
        let ids = Set(participants.map(\.id))
        for participant in participants { await participant.wait { $0.alive == ids } }
    }

    @Test func `three find each other by one seed`() async throws {
        try await withLoop { loop in
            let all = try await Self.three(loop)
            for participant in all {
                let records = await participant.run { $0.driver?.records ?? [] }
                #expect(Set(records.map(\.member.gossipAddress)) == Set(all.map(\.address)))
                #expect(records.allSatisfy { $0.member.version == "1.0" && $0.member.store == 1 })
                // One that was slow to answer may be suspected for a while.
                await participant.wait { $0.driver?.memberCounts == [.alive: 3] }
            }
        }
    }

    @Test func `one that is killed is known dead to all, and comes back with a higher incarnation`() async throws {
        try await withLoop { loop in
            var all = try await Self.three(loop)
            let victim = all[1]
            let incarnation = await all[0].run { $0.record(victim.id)?.incarnation }
            let before = try #require(incarnation)
            await victim.kill()
            for other in [all[0], all[2]] {
                await other.wait { $0.notifications.contains(.failed(victim.id)) }
                let wasSuspected = await other.run { $0.notifications.contains(.suspected(victim.id)) }
                #expect(wasSuspected)
            }
            all[1] = try await Participant.start("n2", on: loop, seeds: [all[2].address], store: 2)
            try await Self.expectAlive(all)
            for other in [all[0], all[2]] {
                await other.wait { $0.record(victim.id)?.member.store == 2 }
                let found = await other.run { $0.record(victim.id) }
                let record = try #require(found)
                #expect(record.incarnation > before)
                #expect(record.member.gossipAddress == all[1].address)
            }
        }
    }

    @Test func `one that leaves is known to have left, and has not failed`() async throws {
        try await withLoop { loop in
            let all = try await Self.three(loop)
            let leaver = all[2]
            await leaver.run { $0.driver?.leave() }
            await leaver.wait { $0.notifications.contains(.leaveComplete) }
            await leaver.kill()
            for other in all[..<2] {
                await other.wait { $0.record(leaver.id)?.status == .left }
                let hasFailed = await other.run { $0.notifications.contains(.failed(leaver.id)) }
                #expect(!hasFailed)
            }
        }
    }

    @Test func `what one says about itself spreads`() async throws {
        try await withLoop { loop in
            let all = try await Self.three(loop)
            let leads = [ShardLead(shard: ShardID(3), term: 7), ShardLead(shard: ShardID(9), term: 2)]
            await all[1].run {
                $0.driver?.update {
                    $0.load = 250
                    $0.leads = leads
                }
            }
            for other in [all[0], all[2]] {
                await other.wait { $0.record(all[1].id)?.member.leads == leads }
                let load = await other.run { $0.record(all[1].id)?.member.load }
                #expect(load == 250)
            }
        }
    }

    @Test func `keys are rotated with two of them, without anybody being lost`() async throws {
        try await withLoop { loop in
            let all = try await Self.three(loop, keys: [1])
            var load: UInt16 = 0
            for keys in [[1, 2], [2, 1], [2]] as [[UInt8]] {
                for participant in all {
                    let ring = try #require(KeyRing(keys.map(Participant.key)))
                    await participant.run { $0.driver?.use(ring) }
                    // In the middle of each step too, everybody hears everybody.
                    load += 1
                    let told = load
                    await participant.run { $0.driver?.update { $0.load = told } }
                    for other in all where other.id != participant.id {
                        await other.wait { $0.record(participant.id)?.member.load == told }
                    }
                }
            }
            let newcomer = try await Participant.start("n4", on: loop, seeds: [all[0].address], keys: [2])
            try await Self.expectAlive(all + [newcomer])
            // The old key is worth nothing any more.
            let late = try await Participant.start("n5", on: loop, seeds: [all[0].address], keys: [1])
            try await all[0].waitForRefusal()
            let known = await late.run { $0.alive }
            #expect(known == [late.id])
        }
    }

    @Test func `a seed may be a host name`() async throws {
        try await withLoop { loop in
            let first = try await Participant.start("n1", on: loop)
            let port = try #require(first.address.hostAndPort?.port)
            let seed = try #require(GossipAddress("localhost:\(port)"))
            let second = try await Participant.start("n2", on: loop, seeds: [seed])
            try await Self.expectAlive([first, second])
        }
    }

    @Test func `a port in use is told, and free again after closing`() async throws {
        try await withLoop { loop in
            let first = try await Participant.start("n1", on: loop)
            var configuration = Participant.quick
            configuration.port = try #require(first.address.hostAndPort?.port)
            await #expect {
                try await Participant.start("n2", on: loop, configuration: configuration)
            } throws: {
                ($0 as? MembershipError)?.code == .socket(.addressInUse)
            }
            await first.kill()
            await first.kill()
            let second = try await Participant.start("n2", on: loop, configuration: configuration)
            #expect(second.address == first.address)
        }
    }
}
