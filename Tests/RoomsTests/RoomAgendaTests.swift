import ChatModel
import RoomCore
import RoomProtocol
import StorageTestKit
import Synchronization
import Telemetry
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// Rooms in memory: what is due in them is done, and debug builds stop where a room was overlooked.
@Suite(.timeLimit(.minutes(3))) struct RoomAgendaTests {
    /// A room leaves memory when the catalogue has its row.
    private static let options = HostedRooms.Options(checkpointSeconds: 1)

    private func isInMemory(_ rooms: Int, _ hosted: HostedRooms) async throws {
        try await poll("\(rooms) rooms are in memory") {
            hosted.metrics.render().contains("\nchatroom_rooms_active \(rooms)\n")
        }
    }

    @Test func `a room that nobody is in leaves memory, and one with a member stays`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options) { hosted in
            let empty = try #require(RoomID("empty"))
            try await hosted.createRoom()
            try await hosted.createRoom(empty)
            try await hosted.ask(hosted.enter("ann"))
            try await isInMemory(1, hosted)
            let exit = RoomNameRequest(room: HostedRooms.room)
            try await hosted.ask(hosted.call("ann", .operation(.exit(exit))))
            try await isInMemory(0, hosted)
        }
    }

    @Test func `a clock that is set back by an hour holds no room in memory`() async throws {
        let hours = Mutex<Int64>(1)
        var options = Self.options
        options.now = { HostedRooms.now().adding(seconds: hours.withLock { $0 } * 3_600) }
        try await HostedRooms.run(try TemporaryDirectory(), options) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("ann"))
            try await isInMemory(1, hosted)
            let exit = RoomNameRequest(room: HostedRooms.room)
            try await hosted.ask(hosted.call("ann", .operation(.exit(exit))))
            hours.withLock { $0 = 0 }
            try await isInMemory(0, hosted)
        }
    }
}
