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

    private func visitor(_ name: String) throws -> Visitor {
        Visitor(
            key: PresenceKey(node: leader, session: try #require(SessionID(name))), laneNumber: 0,
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
        for (room, visitors) in replica.takeAll(at: now) { names[room.text] = visitors.map(\.user.text).sorted() }
        return names
    }

    @Test func `it knows who has come and not gone`() throws {
        var replica = PresenceReplica()
        replica.take(try update(3, first: true))
        let (ann, bob) = (try visitor("ann"), try visitor("bob"))
        replica.take(try update(3, [("r", .here(ann)), ("r", .here(bob)), ("s", .here(ann)), ("t", .here(bob))]))
        replica.take(try update(3, [("r", .here(ann)), ("r", .gone(bob.key.session)), ("t", .gone(bob.key.session))]))
        #expect(replica.count == 2 && all(replica, at: now) == ["r": ["ann"], "s": ["ann"]])
        replica.take(try update(3, [("s", .emptied), ("s", .emptied), ("s", .gone(ann.key.session))]))
        #expect(replica.count == 1 && all(replica, at: now) == ["r": ["ann"]])
        #expect(replica.takeAll(at: now).values.first == [ann])
        #expect(replica.count == 0 && replica.takeAll(at: now).isEmpty)
    }

    @Test func `it believes one leader at a time, from the first word of it on`() throws {
        var replica = PresenceReplica()
        let ann = try visitor("ann")
        replica.take(try update(3, [("r", .here(ann))]))
        #expect(replica.count == 0, "the first word is missing")
        replica.take(try update(3, first: true, [("r", .here(ann))]))
        replica.take(try update(4, [("s", .here(ann))]))
        replica.take(try update(3, at: other, [("s", .here(ann))]))
        replica.take(try update(2, first: true, at: other, [("s", .here(ann))]))
        #expect(all(replica, at: now) == ["r": ["ann"]])
        replica.take(try update(5, first: true, at: other))
        #expect(replica.count == 0, "another leader knows nothing of the former one's sessions")
    }

    @Test func `the word of a leader that is lost, or leads no more, holds for the grace`() throws {
        for isLost in [true, false] {
            var replica = PresenceReplica()
            replica.take(try update(3, first: true, [("r", .here(try visitor("ann")))]))
            replica.onLeader(term: 3, at: now, seconds: 10)
            replica.onNodeLost(other, at: now, seconds: 10)
            #expect(!all(replica, at: now.adding(seconds: 3_600)).isEmpty)
            if isLost {
                replica.onNodeLost(leader, at: now, seconds: 10)
            } else {
                replica.onLeader(term: 4, at: now, seconds: 10)
            }
            // Later news of the same change nothing.
            replica.onLeader(term: 5, at: now.adding(seconds: 9), seconds: 10)
            #expect(!all(replica, at: now.adding(milliseconds: 9_999)).isEmpty)
            #expect(all(replica, at: now.adding(seconds: 10)).isEmpty)
            replica.forgetOutdated(at: now.adding(seconds: 10))
            #expect(replica.count == 0)
        }
    }

    @Test func `who comes beyond the bound is not known, and who is known is told on`() throws {
        var replica = PresenceReplica()
        replica.take(try update(3, first: true))
        var ann = try visitor("u0")
        for number in 0..<PresenceReplica.sessionsMax {
            replica.take(try update(3, [("r", .here(try visitor("u\(number)")))]))
        }
        replica.take(try update(3, [("r", .here(try visitor("late"))), ("s", .here(ann))]))
        ann.profile.nick = "new"
        replica.take(try update(3, [("r", .here(ann))]))
        #expect(replica.count == PresenceReplica.sessionsMax)
        let rooms = replica.takeAll(at: now)
        #expect(rooms.count == 1 && rooms.values.first?.contains(ann) == true)
    }

    @Test func `the leader tells each replica from the beginning, once`() throws {
        var sender = PresenceSender()
        let room = try #require(RoomID("r"))
        sender.note(room)
        #expect(sender.first == nil, "nobody is told")
        #expect(sender.choose([leader, other]) == [leader, other] && sender.isOn)
        #expect(sender.choose([leader, other]) == [])
        sender.note(room)
        sender.note(room)
        #expect(sender.first == room)
        sender.finishFirst()
        #expect(sender.first == nil)
        sender.forget(other)
        #expect(sender.replicas == [leader] && sender.choose([leader, other]) == [other])
        sender.forget(leader)
        sender.forget(other)
        #expect(sender.isOn, "until somebody looks who is there")
        #expect(sender.choose([]) == [] && !sender.isOn)
    }
}
