import ChatModel
import RoomProtocol
import StorageTestKit
import Synchronization
import Testing
import Wire

@testable import Rooms

/// Users who are muted in all rooms, as a room's leader treats them: their gateway may have stood still since it judged.
@Suite(.timeLimit(.minutes(3))) struct SilencingTests {
    private final class Muted: Sendable {
        let names = Mutex<[String: SanctionKind]>([:])
    }

    private func code(_ answer: Result<OperationResult, ChatError>) -> ErrorCode? {
        guard case .failure(let error) = answer else { return nil }
        return error.code
    }

    private func text(_ message: Message) -> String? {
        if case .text(let text) = message.body { text } else { nil }
    }

    @Test func `the leader refuses what needs the right to speak, and repeats what was acked before`() async throws {
        let muted = Muted()
        var options = HostedRooms.Options()
        options.silencing = { user in
            muted.names.withLock { $0[user.text] }.map { ($0, UserSanction(since: Timestamp(1))) }
        }
        try await HostedRooms.run(try TemporaryDirectory(), options) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("ann"), hosted.enter("bob"))
            let first = try await hosted.ask(hosted.send("ann", "before"))[0].get()
            muted.names.withLock { $0 = ["ann": .banned] }
            #expect(try await code(hosted.ask(hosted.send("ann", "banned"))[0]) == .forbidden)
            muted.names.withLock { $0 = ["ann": .muted] }
            #expect(try await code(hosted.ask(hosted.send("ann", "after"))[0]) == .muted)
            #expect(try await code(hosted.ask(hosted.send("bob", "another"))[0]) == nil)
            let barrage = ClientOperation.barrage(BarrageRequest(room: HostedRooms.room, text: "b"))
            #expect(try await code(hosted.ask(hosted.call("ann", .operation(barrage)))[0]) == .muted)
            #expect(try await code(hosted.ask(hosted.call("bob", .operation(barrage)))[0]) == nil)
            // Reading needs no voice.
            let members = ClientOperation.members(MembersRequest(room: HostedRooms.room, kind: .managers))
            #expect(try await code(hosted.ask(hosted.call("ann", .operation(members)))[0]) == nil)
            let again = try await hosted.ask(hosted.send("ann", "before"))[0].get()
            guard case .send(let acked) = first, case .send(let repeated) = again else {
                throw ChatError(.internal, "not sent")
            }
            #expect(acked.messageID == repeated.messageID)
            #expect(try await hosted.history().compactMap(text) == ["before", "another"])
        }
    }
}
