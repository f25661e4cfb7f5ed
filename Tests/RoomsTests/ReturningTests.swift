import ChatModel
import Foundation
import RoomCore
import RoomProtocol
import StorageTestKit
import Synchronization
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// Sessions whose gateway stood still, or was not reached, for longer than the grace, and says afterwards that they are
/// here.
@Suite(.timeLimit(.minutes(3))) struct ReturningTests {
    /// How often a 301 or 302 has been shown.
    private func count(_ event: Int, _ hosted: HostedRooms) -> Int {
        // Each node is told the same.
        let frames = Set(
            hosted.told.all.compactMap { output -> [UInt8]? in
                if case .frame(let frame) = output { frame.json } else { nil }
            })
        return frames.reduce(0) { count, json in
            let text = String(decoding: json, as: UTF8.self)
            return count + text.components(separatedBy: "\"event\":\(event)").count - 1
        }
    }

    @Test func `who was told to have left is told to have come back`() async throws {
        let clock = Mutex<Int64>(0)
        var options = HostedRooms.Options()
        options.now = { HostedRooms.now().adding(milliseconds: clock.withLock { $0 }) }
        try await HostedRooms.run(try TemporaryDirectory(), options) { hosted in
            let away = try #require(NodeID("n2"))
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"))
            let enter = try hosted.call(
                "eve", from: away, .operation(.enter(EnterRequest(room: HostedRooms.room))))
            try await hosted.ask(enter)
            try await poll("both have come") { count(301, hosted) == 2 }
            func announce(_ name: String, _ node: NodeID) throws {
                var call = try hosted.call(
                    name, from: node, .announce(SessionStay(profile: Profile(), enteredAt: HostedRooms.now())))
                call.session?.request = nil
                hosted.rooms.receive([call])
            }

            // Within the grace nobody is told anything.
            hosted.rooms.onNodeLost(away)
            hosted.rooms.reached(away)
            try announce("eve", away)
            // Beyond it everybody is.
            hosted.rooms.onNodeLost(away)
            clock.withLock { $0 += 11_000 }
            try await poll("eve has left") { count(302, hosted) == 1 }
            #expect(count(301, hosted) == 2)
            hosted.rooms.reached(away)
            try announce("eve", away)
            try await poll("eve has come back") { count(301, hosted) == 3 }
            // Once, and nobody else.
            try announce("eve", away)
            try announce("owner", HostedRooms.node)
            try await hosted.ask(hosted.send("owner", "hello"))
            #expect(count(301, hosted) == 3 && count(302, hosted) == 1)
        }
    }

    @Test func `who has left and asks so again has left, and is announced to nobody`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            for _ in 0..<2 {
                let exit = try hosted.call("eve", .operation(.exit(RoomNameRequest(room: HostedRooms.room))))
                #expect(try await hosted.ask(exit).first == .success(.exit))
            }
            try await hosted.ask(hosted.send("owner", "hello"))
            #expect(count(302, hosted) == 1)
        }
    }

    @Test func `an exit that is asked once more does not undo an enter of after it`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            var exit = try hosted.call("eve", .operation(.exit(RoomNameRequest(room: HostedRooms.room))))
            var again = try hosted.enter("eve")
            exit.session?.number = 7
            again.session?.number = 8
            try await hosted.ask(exit, again)
            // Its gateway has not heard the first answer for long.
            exit.session?.request = 1_000
            #expect(try await hosted.ask(exit).first == .success(.exit))
            try await hosted.ask(hosted.send("eve", "still here"))
            #expect(count(302, hosted) == 1)
            var later = exit
            later.session?.number = 9
            later.session?.request = 1_001
            try await hosted.ask(later)
            try await hosted.ask(hosted.send("owner", "hello"))
            #expect(count(302, hosted) == 2)
        }
    }

    @Test func `of those who have left the oldest are forgotten, by number and by time`() throws {
        var departed = DepartedSessions()
        let room = HostedRooms.room
        func key(_ number: Int) throws -> PresenceKey {
            PresenceKey(node: HostedRooms.node, session: try #require(SessionID("s\(number)")))
        }
        for number in 0...DepartedSessions.countMax { departed.add(try key(number), of: room, at: Timestamp(5)) }
        #expect(departed.count == DepartedSessions.countMax)
        #expect(departed.remove(try key(0), of: room) == nil)
        #expect(departed.remove(try key(1), of: room) == Timestamp(5))
        #expect(departed.remove(try key(1), of: room) == nil, "once")
        departed.add(try key(1), of: room, at: Timestamp(6 + DepartedSessions.milliseconds))
        #expect(departed.count == 1)
    }
}
