import ChatModel
import RoomCore
import RoomProtocol
import StorageTestKit
import Testing
import WaitTestKit

@testable import Rooms

/// What a leader believes of a lane, and how the lane puts it right.
@Suite(.timeLimit(.minutes(3))) struct RecountTests {
    private func tallies(_ hosted: HostedRooms) async throws -> RoomTally? {
        let before = hosted.told.tallies.count
        hosted.rooms.receive(TallyRequest(shard: ShardID(0), lane: 0), from: HostedRooms.node)
        try await poll("the answer") { hosted.told.tallies.count > before }
        let told = try #require(hosted.told.tallies.last)
        #expect(told.term != nil && told.isWhole && told.lane == 0)
        #expect(told.rooms.count <= 1)
        return told.rooms.first
    }

    private func sum(_ sessions: String...) throws -> UInt64 {
        try sessions.reduce(0) { $0 &+ SampleHash.sender(try #require(SessionID($1))) }
    }

    @Test func `sessions that are not announced behind a recount begin their grace, the others stay`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            #expect(try await tallies(hosted) == nil, "nobody is here")
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            var told = try #require(try await tallies(hosted))
            #expect(try told.sessions == 2 && told.sum == sum("owner", "eve") && !told.isWaiting)
            try await hosted.ask(hosted.send("owner", "hello"))
            let seq = told.seq
            told = try #require(try await tallies(hosted))
            #expect(told.seq == seq + 1)

            hosted.rooms.receive(LaneRecount(lane: 0, rooms: [HostedRooms.room]), from: HostedRooms.node)
            var announce = try hosted.call(
                "owner", .announce(SessionStay(profile: Profile(), enteredAt: HostedRooms.now())))
            announce.session?.request = nil
            hosted.rooms.receive([announce])
            told = try #require(try await tallies(hosted))
            #expect(try told.sessions == 1 && told.sum == sum("owner"))
            #expect(told.isWaiting, "the lane has not said what it was shown")
            var follow = try hosted.call("owner", .follow(StreamPlace(epoch: "", seq: .max)))
            follow.session?.number = 9
            follow.session?.request = nil
            hosted.rooms.receive([follow])
            told = try #require(try await tallies(hosted))
            #expect(!told.isWaiting)
            #expect(hosted.told.all.contains(.following(9, through: told.seq)))

            // Who is in its grace is still here for others, and may still speak for itself when it is announced.
            announce = try hosted.call("eve", .announce(SessionStay(profile: Profile(), enteredAt: HostedRooms.now())))
            announce.session?.request = nil
            hosted.rooms.receive([announce])
            told = try #require(try await tallies(hosted))
            #expect(try told.sessions == 2 && told.sum == sum("owner", "eve"))
        }
    }
}
