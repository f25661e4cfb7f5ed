import ChatModel
import RoomProtocol
import Testing

@testable import Rooms

struct FollowedLeaderTests {
    private static let notice = ShardNotice(shard: ShardID(0), term: 7)

    private func following(_ name: String) throws -> FollowedLeader {
        var followed = FollowedLeader()
        followed.follow(try #require(NodeID(name)), Self.notice)
        return followed
    }

    @Test func `a leader that is silent is doubted once`() throws {
        var followed = try following("n")
        let doubted = followed.suspect()
        #expect(doubted?.node == NodeID("n"))
        #expect(doubted?.notice == Self.notice)
        #expect(followed.suspect()?.node == nil)
    }

    @Test func `where nobody was followed, nobody is doubted`() throws {
        var nobody = FollowedLeader()
        #expect(nobody.suspect()?.node == nil)
        var leading = try following("n")
        leading.forget()
        #expect(leading.suspect()?.node == nil)
    }

    @Test func `a doubt ends after a while, and with it what is known of the leader`() throws {
        var followed = try following("n")
        _ = followed.suspect()
        for _ in 0..<FollowedLeader.suspicionSeconds { #expect(followed.tick()?.node == nil) }
        #expect(followed.tick()?.node == NodeID("n"))
        #expect(followed.suspect()?.node == nil)
    }

    @Test func `a leader that is heard is not doubted, and may be later`() throws {
        var followed = try following("n")
        _ = followed.suspect()
        followed.follow(try #require(NodeID("m")), Self.notice)
        for _ in 0...FollowedLeader.suspicionSeconds { #expect(followed.tick()?.node == nil) }
        #expect(followed.suspect()?.node == NodeID("m"))
    }
}
