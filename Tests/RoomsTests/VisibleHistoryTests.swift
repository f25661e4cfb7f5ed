import ChatModel
import RoomProtocol
import StorageTestKit
import Synchronization
import Testing
import Wire

@testable import Rooms

/// A room's own life of history as its viewers see it, while time goes by (PROTOCOL.md, "History").
@Suite(.timeLimit(.minutes(2))) final class VisibleHistoryTests: Sendable {
    private let hours = Mutex<Int64>(0)

    private var options: HostedRooms.Options {
        var options = HostedRooms.Options()
        options.level = .newest
        let begin = HostedRooms.now()
        options.now = { [self] in begin.adding(seconds: hours.withLock { $0 } * 3600) }
        return options
    }

    private func set(_ days: Int64, _ hosted: HostedRooms) async throws {
        var set = RoomChanges()
        set.historyDays = days
        let body = CommandBody.updateRoom(set: set, NotifyOptions(notify: false))
        _ = try await hosted.served { () async throws(ChatError) in
            try await hosted.calls.perform(body, in: HostedRooms.room, as: .system, id: nil)
        }
    }

    private func texts(_ messages: [Message]?) -> [String] {
        (messages ?? []).compactMap { if case .text(let text) = $0.body { text } else { nil } }
    }

    private func entered(
        _ hosted: HostedRooms, _ name: String, since: UInt64? = nil, epoch: String? = nil
    ) async throws -> EnterResult {
        var request = EnterRequest(room: HostedRooms.room)
        (request.since, request.epoch, request.history) = (since, epoch, 50)
        guard
            case .enter(let result)? = try await hosted.ask(try hosted.call(name, .operation(.enter(request))))
                .first?.get()
        else { throw ChatError(.internal, "no answer to an enter") }
        return result
    }

    @Test func `what is older than the room's days is unreachable at once, also what is in memory`() async throws {
        let directory = try TemporaryDirectory()
        let epoch = try await HostedRooms.run(directory, options) { hosted in
            try await hosted.createRoom()
            let epoch = try await entered(hosted, "ann").epoch
            for name in ["one", "two"] { _ = try await hosted.ask(try hosted.send("ann", name)) }
            hours.withLock { $0 = 30 }
            _ = try await hosted.ask(try hosted.send("ann", "three"))
            let all = try await hosted.history()
            #expect(texts(all) == ["one", "two", "three"])
            try await set(1, hosted)
            // By their IDs, too: what quotes, copies or recalls a message asks for it so.
            for message in all {
                let found = try? await hosted.calls.message(message.messageID, in: HostedRooms.room)
                #expect(texts(found.map { [$0] }) == (message == all.last ? ["three"] : []))
            }
            #expect(texts(try await hosted.history()) == ["three"])
            #expect(texts(try await entered(hosted, "bob").missed) == ["three"])
            // A viewer who resumes from before the visible messages learns that some are gone.
            let back = try await entered(hosted, "eve", since: 1, epoch: epoch)
            #expect(back.recovered == false && texts(back.missed) == ["three"])
            let near = try await entered(hosted, "joe", since: 2, epoch: epoch)
            #expect(near.recovered == true && texts(near.missed) == ["three"])
            // Raising revives nothing.
            try await set(100, hosted)
            #expect(texts(try await hosted.history()) == ["three"])
            return epoch
        }
        // A month later what was said on the next day is there, after a restart, too.
        try await HostedRooms.run(directory, create: false, options) { hosted in
            hours.withLock { $0 = 60 }
            _ = try await hosted.served { () async throws(ChatError) in
                try await hosted.calls.history(of: HostedRooms.room, HistoryRequest())
            }
            _ = try await entered(hosted, "ann")
            _ = try await hosted.ask(try hosted.send("ann", "four"))
            hours.withLock { $0 = 60 + 30 * 24 }
            #expect(texts(try await hosted.history()).contains("four"))
        }
        try await HostedRooms.run(directory, create: false, options) { hosted in
            hours.withLock { $0 = 60 + 30 * 24 }
            let history = try await hosted.served { () async throws(ChatError) in
                try await hosted.calls.history(of: HostedRooms.room, HistoryRequest())
            }
            #expect(texts(history.messages) == ["four"])
            #expect(try await entered(hosted, "zoe").epoch == epoch)
        }
    }
}
