import ChatModel
import Foundation
import RoomCore
import RoomProtocol
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// A replica's knowledge of the sessions on its leader's node.
@Suite struct PresenceReplicaTests {
    private let (leader, other): (NodeID, NodeID)
    private let now = Timestamp(1_000_000)

    init() throws { (leader, other) = (try #require(NodeID("n1")), try #require(NodeID("n2"))) }

    private func visitor(_ name: String, at node: NodeID? = nil) throws -> Visitor {
        Visitor(
            key: PresenceKey(node: node ?? leader, session: try #require(SessionID(name))), laneNumber: 0,
            user: try user(name), profile: Profile(nick: name), anonymous: false, device: .web, enteredAt: now)
    }

    private func update(
        _ term: UInt64, first: Bool = false, at node: NodeID? = nil, _ changes: [(String, PresenceChange)] = []
    ) throws -> PresenceUpdate {
        PresenceUpdate(
            shard: ShardID(0), term: term, node: node ?? leader, isFirst: first,
            changes: try changes.map { .init(room: try #require(RoomID($0.0)), $0.1) })
    }

    private func all(_ replica: PresenceReplica, at now: Timestamp) -> [String: [String]] {
        var replica = replica
        var names: [String: [String]] = [:]
        for (room, sessions) in replica.takeAll(at: now) {
            names[room.text] = sessions.map { $0.visitor.user.text + ($0.isLost ? " lost" : "") }.sorted()
        }
        return names
    }

    /// One that is told at one time, with a grace of 10 s.
    private struct Told {
        var replica = PresenceReplica()
        var now: Timestamp

        mutating func take(_ update: PresenceUpdate) { replica.take(update, at: now, seconds: 10) }
    }

    @Test func `it knows who has come and not gone`() throws {
        var it = Told(now: now)
        it.take(try update(3, first: true))
        let (ann, bob) = (try visitor("ann"), try visitor("bob"))
        it.take(try update(3, [("r", .here(ann)), ("r", .here(bob)), ("s", .here(ann)), ("t", .here(bob))]))
        it.take(try update(3, [("r", .here(ann)), ("r", .gone(bob.key.session)), ("t", .gone(bob.key.session))]))
        #expect(it.replica.count == 2 && all(it.replica, at: now) == ["r": ["ann"], "s": ["ann"]])
        it.take(try update(3, [("s", .emptied), ("s", .emptied), ("s", .gone(ann.key.session))]))
        #expect(it.replica.count == 1)
        #expect(it.replica.takeAll(at: now).values.first?.map(\.visitor) == [ann])
        #expect(it.replica.count == 0 && it.replica.takeAll(at: now).isEmpty)
    }

    @Test func `a session that the leader could not reach is lost, and its node may be back`() throws {
        var it = Told(now: now)
        var (ann, bob) = (try visitor("ann"), try visitor("bob"))
        bob.key.node = other
        it.take(try update(3, first: true, [("r", .here(ann)), ("r", .here(bob))]))
        #expect(all(it.replica, at: now) == ["r": ["ann", "bob lost"]])
        // He is at the leader's node now, and she at the other one, which can't be reached.
        (ann.key.node, bob.key.node) = (other, leader)
        it.take(try update(3, [("r", .here(bob)), ("r", .here(ann))]))
        #expect(it.replica.count == 2 && all(it.replica, at: now) == ["r": ["ann lost", "bob"]])
    }

    @Test func `it believes one leader at a time, from the first word of it on`() throws {
        var it = Told(now: now)
        let ann = try visitor("ann")
        it.take(try update(3, [("r", .here(ann))]))
        #expect(it.replica.count == 0, "the first word is missing")
        it.take(try update(3, first: true, [("r", .here(ann))]))
        it.take(try update(4, [("s", .here(ann))]))
        it.take(try update(3, at: other, [("s", .here(ann))]))
        it.take(try update(2, first: true, at: other, [("s", .here(ann))]))
        #expect(all(it.replica, at: now) == ["r": ["ann"]])
        it.take(try update(4, first: true))
        #expect(it.replica.count == 0, "the leader begins anew")
    }

    @Test func `the next leader's word stands beside the former one's, for the grace`() throws {
        var it = Told(now: now)
        it.take(try update(3, first: true, [("r", .here(try visitor("ann"))), ("s", .here(try visitor("ann")))]))
        it.replica.onNodeLost(leader, at: now, seconds: 10)
        it.now = now.adding(seconds: 2)
        it.take(try update(4, first: true, at: other, [("r", .here(try visitor("bob", at: other)))]))
        #expect(it.replica.count == 3)
        var copy = it.replica
        let inherited = copy.takeAll(at: it.now)
        let room = try #require(RoomID("r"))
        #expect(inherited[room]?.map(\.visitor.user.text) == ["ann", "bob"], "the newer word last")
        #expect(inherited[room]?.map(\.isLost) == [true, false])
        #expect(all(it.replica, at: now.adding(seconds: 10)) == ["r": ["bob"]])
    }

    @Test func `the word of a leader that is lost, or leads no more, holds for the grace`() throws {
        for isLost in [true, false] {
            var it = Told(now: now)
            it.take(try update(3, first: true, [("r", .here(try visitor("ann")))]))
            it.replica.onLeader(leader, term: 3, at: now, seconds: 10)
            it.replica.onNodeLost(other, at: now, seconds: 10)
            #expect(all(it.replica, at: now.adding(seconds: 3_600)) == ["r": ["ann"]])
            if isLost {
                it.replica.onNodeLost(leader, at: now, seconds: 10)
            } else {
                it.replica.onLeader(other, term: 4, at: now, seconds: 10)
            }
            // Later news of the same change nothing.
            it.replica.onLeader(other, term: 5, at: now.adding(seconds: 9), seconds: 10)
            #expect(all(it.replica, at: now.adding(milliseconds: 9_999)) == ["r": [isLost ? "ann lost" : "ann"]])
            #expect(all(it.replica, at: now.adding(seconds: 10)).isEmpty)
            it.replica.forgetOutdated(at: now.adding(seconds: 10))
            #expect(it.replica.count == 0)
        }
    }

    @Test func `a node that claims a term which nobody leads in is believed until the leader is heard`() throws {
        var it = Told(now: now)
        it.take(try update(3, first: true, [("r", .here(try visitor("ann")))]))
        it.take(try update(1 << 48, first: true, at: other))
        it.replica.onLeader(leader, term: 3, at: now, seconds: 10)
        it.take(try update(3, first: true, [("r", .here(try visitor("bob")))]))
        it.take(try update(3, [("r", .here(try visitor("carl")))]))
        #expect(all(it.replica, at: now.adding(seconds: 20)) == ["r": ["bob", "carl"]])
        // One that is heard a moment before its first word is believed, and not forgotten.
        it.take(try update(4, first: true, at: other, [("r", .here(try visitor("dora", at: other)))]))
        it.replica.onLeader(leader, term: 3, at: now, seconds: 10)
        it.replica.onLeader(other, term: 4, at: now, seconds: 10)
        #expect(all(it.replica, at: now.adding(seconds: 20)) == ["r": ["dora"]])
    }

    @Test func `who comes beyond the bound is not known, and who is known is told on`() throws {
        var it = Told(now: now)
        it.take(try update(3, first: true))
        var ann = try visitor("u0")
        for number in 0..<PresenceReplica.sessionsMax {
            it.take(try update(3, [("r", .here(try visitor("u\(number)")))]))
        }
        it.take(try update(3, [("r", .here(try visitor("late"))), ("s", .here(ann))]))
        ann.profile.nick = "new"
        it.take(try update(3, [("r", .here(ann))]))
        #expect(it.replica.count == PresenceReplica.sessionsMax)
        let rooms = it.replica.takeAll(at: now)
        #expect(rooms.count == 1 && rooms.values.first?.contains { $0.visitor == ann } == true)
    }

    @Test func `a leader that does not begin is asked every few seconds, and no other`() throws {
        var it = Told(now: now)
        func asks(_ count: Int, _ node: NodeID, _ term: UInt64) -> [Bool] {
            (0..<count).map { _ in it.replica.mustAsk(node, term: term) }
        }
        #expect(asks(7, leader, 3) == [false, false, false, true, false, false, true])
        // Another leader has its own time.
        #expect(asks(4, other, 4) == [false, false, false, true])
        it.take(try update(4, first: true, at: other))
        #expect(asks(8, other, 4).allSatisfy { !$0 })
        #expect(asks(4, other, 5) == [false, false, false, true], "it was elected again")
    }

    @Test func `the leader tells each replica from the beginning, once`() throws {
        var sender = PresenceSender()
        let (room, quiet) = (try #require(RoomID("r")), try #require(RoomID("quiet")))
        sender.note(room)
        #expect(!sender.isBehind, "nobody is told")
        let keys = try ["a", "b", "c"].map { try visitor($0).key }
        func sessions(_ id: RoomID) -> [PresenceKey] { id == room ? keys : [] }
        #expect(sender.choose([leader, other], [room, quiet]).new == [leader, other] && sender.isOn)
        #expect(sender.choose([leader, other], [room]) == (new: [], old: []))
        var told: [PresenceKey] = []
        while let part = sender.takeBeginning(max: 2, sessions) {
            #expect(part.nodes == [leader, other] && part.keys.count <= 2)
            told += part.keys
        }
        #expect(Set(told) == Set(keys) && told.count == 3 && !sender.isBehind)
        sender.note(room)
        sender.note(room)
        #expect(sender.first == room)
        sender.finishFirst()
        #expect(!sender.isBehind)
        // One that is reached anew is told alone.
        sender.forget(other)
        #expect(sender.replicas == [leader] && sender.choose([leader, other], [room]).new == [other])
        #expect(sender.takeBeginning(max: 2, sessions)?.nodes == [other])
        sender.forget(other)
        #expect(!sender.isBehind)
        #expect(sender.choose([], [room]).old == [leader] && !sender.isOn)
    }
}
