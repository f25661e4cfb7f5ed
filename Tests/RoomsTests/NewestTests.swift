import ChatModel
import History
import RoomProtocol
import StorageTestKit
import Testing
import Wire

@testable import Rooms

/// Entering with `history` (PROTOCOL.md, "Newest messages").
@Suite struct NewestTests {
    private static func enter(_ hosted: HostedRooms, _ name: String, history: Int64) throws -> RoomRequest {
        try hosted.call(name, .operation(.enter(EnterRequest(room: HostedRooms.room, history: history))))
    }

    private static func entered(_ hosted: HostedRooms, _ call: RoomRequest) async throws -> EnterResult {
        guard case .success(.enter(let result)) = try await hosted.ask(call)[0] else {
            throw ChatError(.internal, "not entered")
        }
        return result
    }

    @Test func `a storm with history is answered from memory, and what it shows is made once`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("ann"))
            let last: UInt64 = 300
            for number in 1...last { try await hosted.ask(hosted.send("ann", "hello \(number)")) }
            let storm = try (0..<WaitingCalls.callsAtATime).map { try Self.enter(hosted, "u\($0)", history: 50) }
            hosted.rooms.receive(storm)
            for case let request? in storm.map(\.number) {
                guard case .success(.enter(let result)) = await hosted.told.answer(to: request) else {
                    Issue.record("not answered")
                    return
                }
                #expect(result.recovered == nil && result.missedMore == nil && result.seq == last)
                let seqs = result.missed?.compactMap(\.seq) ?? []
                #expect(seqs.count == 50 && seqs.last == result.seq && seqs == Array(seqs[0]...result.seq))
            }
            #expect(hosted.storage.historyReadCount == 0)
            #expect(hosted.told.missedCount == 1)
        }
    }

    @Test func `a room with less than was asked for gives all of it, and none without history`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            let none = try await Self.entered(hosted, Self.enter(hosted, "ann", history: 0))
            #expect(none.missed == nil)
            try await hosted.ask(hosted.send("ann", "hello"))
            let all = try await Self.entered(hosted, Self.enter(hosted, "bob", history: 100))
            #expect(all.missed?.compactMap(\.seq) == Array(1...all.seq))
            #expect(hosted.storage.historyReadCount == 0)
        }
    }

    @Test func `of messages that fill the reply the newest stay`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("ann"))
            for number in 0..<12 {
                let send = SendRequest(
                    room: HostedRooms.room, clientID: "\(number)",
                    draft: MessageDraft(body: .text(String(repeating: "x", count: 30_000))))
                try await hosted.ask(hosted.call("ann", .operation(.send(send))))
            }
            let result = try await Self.entered(hosted, Self.enter(hosted, "bob", history: 100))
            let seqs = result.missed?.compactMap(\.seq) ?? []
            #expect((2...5).contains(seqs.count) && seqs.last == result.seq)
            #expect(seqs == Array((seqs.first ?? 0)...result.seq))
        }
    }

    @Test func `a newest message that leaves no room for others is there alone`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("ann"))
            // Six times as long in JSON.
            for (id, text) in [("short", "hello"), ("long", String(repeating: "\u{1}", count: 24_000))] {
                let send = SendRequest(room: HostedRooms.room, clientID: id, draft: MessageDraft(body: .text(text)))
                try await hosted.ask(hosted.call("ann", .operation(.send(send))))
            }
            for user in ["bob", "carl"] {
                let result = try await Self.entered(hosted, Self.enter(hosted, user, history: 50))
                #expect(result.missed?.compactMap(\.seq) == [result.seq])
            }
        }
    }

    @Test func `a tail that is shorter than what is asked for is filled from storage, once for a storm`() async throws {
        let directory = try TemporaryDirectory()
        try await HostedRooms.run(directory) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("ann"))
            for number in 0..<60 { try await hosted.ask(hosted.send("ann", "hello \(number)")) }
        }
        var options = HostedRooms.Options()
        options.hotTailRows = 5
        try await HostedRooms.run(directory, create: false, options) { hosted in
            _ = try await hosted.served { () async throws(ChatError) in
                try await hosted.calls.view(of: HostedRooms.room)
            }
            let storm = try (0..<20).map { try Self.enter(hosted, "u\($0)", history: 30) }
            hosted.rooms.receive(storm)
            for case let request? in storm.map(\.number) {
                guard case .success(.enter(let result)) = await hosted.told.answer(to: request) else {
                    Issue.record("not answered")
                    return
                }
                let seqs = result.missed?.compactMap(\.seq) ?? []
                #expect(seqs.count == 30 && seqs == Array((seqs.first ?? 0)...result.seq))
            }
            #expect(hosted.storage.historyReadCount == 1)
        }
    }
}
