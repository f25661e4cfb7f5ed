import ChatModel
import History
import RoomCore
import RoomProtocol
import StorageTestKit
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// What sessions read of history and what a COMBINE copies is bounded, and ends with the session.
struct HistoryBoundsTests {
    private static let room = HostedRooms.room
    /// Seven of them go into one COMBINE, eight don't.
    private static let long = String(repeating: "x", count: Limits.textBytes)

    private static func body(_ text: String, _ clientID: String) -> ClientOperation {
        .send(SendRequest(room: room, clientID: clientID, draft: MessageDraft(body: .text(text))))
    }

    private static func combine(_ ids: [String], _ clientID: String) -> ClientOperation {
        .send(
            SendRequest(
                room: room, clientID: clientID,
                draft: MessageDraft(body: .combine(title: "t", summary: "s", messageIDs: ids))))
    }

    private static func history(after seq: UInt64) -> ClientOperation {
        var query = HistoryRequest()
        (query.ascending, query.limit, query.afterSeq) = (true, Int(Limits.pageItems), seq)
        return .history(RoomHistoryRequest(room: room, query: query))
    }

    /// How long the reply is on the way to a client, where it is longest.
    private static func replyBytes(_ result: OperationResult) -> Int {
        var bytes: [UInt8] = []
        ServerItem.reply(id: .max, .success(result)).appendJSON(to: &bytes)
        return bytes.count
    }

    private static func charged(_ hosted: HostedRooms, _ wanted: UInt32?) -> Int? {
        for case .reply(_, let request, _, _, let charged) in hosted.told.all where request == wanted { return charged }
        return nil
    }

    private static func send(
        _ hosted: HostedRooms, _ operation: ClientOperation
    ) async throws -> (result: SendResult, charged: Int?) {
        var call = try hosted.call("ann", .operation(operation))
        call.session?.rooms = [HostedRooms.room]
        guard case .send(let sent)? = try await hosted.ask(call).first?.get() else {
            throw ChatError(.internal, "no answer to a send")
        }
        return (sent, charged(hosted, call.number))
    }

    @Test func `a COMBINE copies at most 256 KB, which its session is charged, and all of it is one reply`()
        async throws
    {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            _ = try await hosted.ask(try hosted.enter("ann"))
            var ids: [String] = []
            for number in 0..<8 {
                let sent = try await Self.send(hosted, Self.body(Self.long, "m\(number)"))
                #expect(sent.charged == 0)
                ids.append(sent.result.messageID)
            }
            let made = try await Self.send(hosted, Self.combine(Array(ids.prefix(7)), "c"))
            #expect((7 * Limits.textBytes...Limits.pageBytes).contains(made.charged ?? 0))
            #expect(try await Self.send(hosted, Self.combine(Array(ids.prefix(7)), "c")).charged == 0, "a repeat")
            var tooMuch = try hosted.call("ann", .operation(Self.combine(ids, "d")))
            tooMuch.session?.rooms = [HostedRooms.room]
            guard case .failure(let error)? = try await hosted.ask(tooMuch).first else {
                throw ChatError(.internal, "eight were taken")
            }
            #expect(error.code == .tooLarge && error.field == "messageIds")
            // The history of it has its title only.
            _ = try await Self.send(hosted, Self.body("end", "end"))
            let page = try await hosted.ask(try hosted.call("ann", .operation(Self.history(after: 8)))).first?.get()
            guard case .history(let shown)? = page else { throw ChatError(.internal, "no history") }
            #expect(shown.messages.count == 2 && Self.replyBytes(.history(shown)) < 10_000)
            let request = CombinedRequest(room: Self.room, messageID: made.result.messageID)
            let copies = try await hosted.ask(try hosted.call("ann", .operation(.combined(request)))).first?.get()
            guard case .combined(let combined)? = copies else { throw ChatError(.internal, "no copies") }
            #expect(combined.messages.map(\.messageID) == Array(ids.prefix(7)))
            #expect(Self.replyBytes(.combined(combined)) <= Limits.replyBytes)
        }
    }

    /// The longest that JSON makes of a character: six bytes.
    @Test func `a reply of history is never longer than 256 KB, and with more says that there is more`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            _ = try await hosted.ask(try hosted.enter("ann"))
            let dense = String(repeating: "\u{1}", count: Limits.textBytes)
            for number in 0..<12 {
                _ = try await Self.send(hosted, Self.body(number % 4 == 0 ? dense : Self.long, "m\(number)"))
            }
            var (seq, pages, more) = (UInt64(0), 0, true)
            while more {
                let answer = try await hosted.ask(try hosted.call("ann", .operation(Self.history(after: seq)))).first
                guard case .history(let page)? = try answer?.get() else { throw ChatError(.internal, "no history") }
                #expect(Self.replyBytes(.history(page)) <= Limits.replyBytes)
                let first = try #require(page.messages.first?.seq)
                #expect(first == seq + 1)
                seq = page.messages.last?.seq ?? 0
                more = page.more == true
                pages += 1
            }
            #expect(seq == 12 && pages > 3)
        }
    }

    @Test func `the longest message there is fits into a reply`() throws {
        func dense(_ bytes: Int) -> String { String(repeating: "\u{1}", count: bytes) }
        let name = try user(String(repeating: "u", count: 64))
        let profile = Profile(
            nick: dense(Limits.nickBytes), avatar: dense(Limits.urlBytes), ext: dense(Limits.extBytes))
        var message = Message(
            room: HostedRooms.room, place: .kept(seq: .max),
            messageID: dense(Limits.opaqueIDBytes), time: Timestamp(.max),
            from: Sender(user: name, profile: profile, role: .anonymous),
            body: .custom(
                content: dense(Limits.textBytes), subtype: Limits.customSubtypeMax,
                searchable: dense(Limits.searchableBytes)))
        message.clientID = dense(Limits.clientIDBytes)
        message.mentions = Array(repeating: name, count: Limits.mentionedUsers)
        message.mentionAll = true
        message.ext = dense(Limits.extBytes)
        #expect(HistoryCodec.shownBytes(message) <= Limits.pageBytes)
        let page = MessagesResult(messages: [message])
        #expect(Self.replyBytes(.history(page)) <= Limits.replyBytes)
    }

    @Test func `nothing is read for a session whose connection is gone, and it may read when it is back`() async throws
    {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            _ = try await hosted.ask(try hosted.enter("ann"))
            _ = try await Self.send(hosted, Self.body("hello", "m"))
            let before = hosted.storage.historyReadCount
            let away = try hosted.call("ann", .away)
            let read = try hosted.call("ann", .operation(Self.history(after: 0)))
            hosted.rooms.receive([away])
            guard case .failure(let error)? = try await hosted.ask(read).first else {
                Issue.record("history was read")
                return
            }
            #expect(error.code == .unavailable && error.retryAfterMs != nil)
            #expect(hosted.storage.historyReadCount == before)
            hosted.rooms.receive([try hosted.call("ann", .moved(from: nil))])
            let again = try await hosted.ask(try hosted.call("ann", .operation(Self.history(after: 0)))).first?.get()
            guard case .history(let page)? = again else { throw ChatError(.internal, "no history") }
            #expect(page.messages.map(\.seq) == [1])
        }
    }
}
