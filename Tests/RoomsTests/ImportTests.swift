import ChatModel
import History
import RoomCore
import RoomProtocol
import StorageTestKit
import Testing
import Wire

@testable import Rooms

/// The leader adds facts to an import: the newest message, and how far history goes back (PROTOCOL.md, "Import").
@Suite struct ImportTests {
    private func options(now: @escaping @Sendable () -> Timestamp = HostedRooms.now) -> HostedRooms.Options {
        var options = HostedRooms.Options()
        (options.now, options.level) = (now, .newest)
        return options
    }

    private func bring(_ hosted: HostedRooms, _ times: Timestamp..., id: CommandID? = nil) async throws(ChatError)
        -> ImportResult
    {
        let messages = times.map { ImportedMessage(time: $0, from: nil, body: .text("at \($0.milliseconds)")) }
        let result = try await hosted.calls.perform(
            .importMessages(messages, after: nil), in: HostedRooms.room, as: .system, id: id)
        guard case .imported(let answer) = result else { throw ChatError(.internal, "another answer") }
        return answer
    }

    private func code(_ body: () async throws(ChatError) -> ImportResult) async -> ErrorCode? {
        do throws(ChatError) {
            _ = try await body()
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `before the cluster's level brings it, it is refused as upgrading`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            #expect(await code { () async throws(ChatError) in try await bring(hosted, Timestamp(1)) } == .upgrading)
        }
    }

    @Test func `the room in memory knows its newest message, whoever has brought it`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), options()) { hosted in
            try await hosted.createRoom()
            let now = HostedRooms.now()
            #expect(try await bring(hosted, now.adding(seconds: -90)).seq == 1)
            let last = try await bring(hosted, now.adding(seconds: -90), now.adding(seconds: -60))
            #expect(last == ImportResult(imported: 2, skipped: 0, seq: 3))
            let before = now.adding(seconds: -61)
            #expect(await code { () async throws(ChatError) in try await bring(hosted, before) } == .conflict)
            try await hosted.ask(hosted.enter("ann"))
            try await hosted.ask(hosted.send("ann", "hello"))
            let between = now.adding(seconds: -30)
            #expect(await code { () async throws(ChatError) in try await bring(hosted, between) } == .conflict)
            #expect(try await hosted.history().map(\.seq) == [1, 2, 3, 4])
        }
    }

    @Test func `a room whose messages have all expired takes what is not too old, also when it is loaded anew`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let day: Int64 = 86_400
        try await HostedRooms.run(directory, options { HostedRooms.now().adding(seconds: -20 * day) }) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("ann"))
            try await hosted.ask(hosted.send("ann", "hello"))
            #expect(try await hosted.history().count == 1)
        }
        try await HostedRooms.run(directory, create: false, options()) { hosted in
            let answer = try await hosted.served { () async throws(ChatError) in
                try await bring(
                    hosted, HostedRooms.now().adding(seconds: -11 * day), HostedRooms.now().adding(seconds: -5 * day))
            }
            #expect(answer == ImportResult(imported: 1, skipped: 1, seq: 2))
            #expect(try await hosted.history().map(\.seq) == [2])
        }
    }
}
