import ChatModel
import RoomCore
import RoomProtocol
import StorageTestKit
import Synchronization
import Testing
import Wire

@testable import Rooms

/// Pins and replies, whose originals the leader looks up, beside recalls of these.
@Suite(.timeLimit(.minutes(3))) struct OriginalsTests {
    private static func code(_ result: Result<OperationResult, ChatError>) -> ErrorCode? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    private static func sent(_ result: Result<OperationResult, ChatError>) throws -> String {
        guard case .send(let sent) = try result.get() else { throw ChatError(.internal, "no ack") }
        return sent.messageID
    }

    private static func pin(
        _ hosted: HostedRooms, _ messageID: String, enable: Bool = true, by name: String = "owner", id: String? = nil
    ) throws -> RoomRequest {
        try hosted.call(
            name,
            .operation(.pin(PinRequest(room: HostedRooms.room, messageID: messageID, enable: enable, clientID: id))))
    }

    private static func recall(_ hosted: HostedRooms, _ messageID: String, by name: String = "owner") throws
        -> RoomRequest
    { try hosted.call(name, .operation(.recall(RecallRequest(room: HostedRooms.room, messageID: messageID)))) }

    private static func reply(_ hosted: HostedRooms, to messageID: String, _ id: String, by name: String = "ann")
        throws -> RoomRequest
    {
        var draft = MessageDraft(body: .text("reply \(id)"))
        draft.replyTo = messageID
        return try hosted.call(
            name, .operation(.send(SendRequest(room: HostedRooms.room, clientID: id, draft: draft))))
    }

    private static func pinned(_ hosted: HostedRooms) async throws -> [String] {
        try await hosted.served { () async throws(ChatError) in
            try await hosted.calls.view(of: HostedRooms.room).info.pinned.map(\.messageID)
        }
    }

    /// A cluster of a level that brings pins and replies.
    private static func options() -> HostedRooms.Options {
        var options = HostedRooms.Options()
        options.level = .newest
        return options
    }

    private static func filled(_ hosted: HostedRooms) async throws -> String {
        try await hosted.createRoom()
        try await hosted.ask(hosted.enter("owner"), hosted.enter("ann"))
        return try sent(try await hosted.ask(hosted.send("ann", "original"))[0])
    }

    @Test func `whatever the order of a pin and a recall, no recalled message is pinned`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            let first = try await Self.filled(hosted)
            // The recall is proposed first: the pin waits, and finds it recalled.
            let after = try await hosted.ask(Self.recall(hosted, first), Self.pin(hosted, first))
            #expect(after.map(Self.code) == [nil, .notFound])
            let second = try Self.sent(try await hosted.ask(hosted.send("ann", "second"))[0])
            let before = try await hosted.ask(Self.pin(hosted, second), Self.recall(hosted, second))
            #expect(before.map(Self.code) == [nil, nil])
            #expect(try await Self.pinned(hosted).isEmpty)
            #expect(Self.code(try await hosted.ask(Self.pin(hosted, second, enable: false))[0]) == nil)
        }
    }

    @Test func `two that pin the same at once make one pin, and one 361`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            let message = try await Self.filled(hosted)
            _ = try await hosted.calls.perform(
                .setManager(user("ann"), enable: true, NotifyOptions(notify: false)), in: HostedRooms.room,
                as: .system, id: nil)
            let answers = try await hosted.ask(
                Self.pin(hosted, message), Self.pin(hosted, message, by: "ann"), Self.pin(hosted, message, id: "again"),
                Self.pin(hosted, message, id: "again"))
            #expect(answers.map(Self.code) == [nil, nil, nil, nil])
            #expect(try await Self.pinned(hosted) == [message])
            let events = try await hosted.history().compactMap { kept -> EventCode? in
                if case .notification(let notification) = kept.body { notification.event } else { nil }
            }
            #expect(events == [.pinsChanged])
        }
    }

    private static func report(_ hosted: HostedRooms, _ messageID: String, by name: String = "owner") throws
        -> RoomRequest
    {
        try hosted.call(
            name, .operation(.report(ReportRequest(room: HostedRooms.room, messageID: messageID))))
    }

    private static func reports(_ hosted: HostedRooms) async throws -> [MessageReport] {
        try await hosted.served { () async throws(ChatError) in
            try await hosted.calls.reports(of: HostedRooms.room, after: nil, limit: 100).reports
        }
    }

    @Test func `whatever the order of a report and a recall, the list has the report and no text`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            let first = try await Self.filled(hosted)
            let after = try await hosted.ask(Self.recall(hosted, first), Self.report(hosted, first))
            #expect(after.map(Self.code) == [nil, nil])
            let second = try Self.sent(try await hosted.ask(hosted.send("ann", "second"))[0])
            let before = try await hosted.ask(Self.report(hosted, second, by: "ann"), Self.recall(hosted, second))
            #expect(before.map(Self.code) == [nil, nil])
            let listed = try await Self.reports(hosted)
            #expect(listed.map(\.messageID) == [first, second] && listed.map(\.excerpt) == [nil, nil])
            let third = try Self.sent(try await hosted.ask(hosted.send("ann", "third"))[0])
            #expect(try await hosted.ask(Self.report(hosted, third)).map(Self.code) == [.tooOften])
            #expect(try await hosted.ask(Self.report(hosted, first)).map(Self.code) == [.conflict])
        }
    }

    @Test func `before the level brings reports there are none`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            let message = try await Self.filled(hosted)
            #expect(try await hosted.ask(Self.report(hosted, message)).map(Self.code) == [.upgrading])
            #expect(try await Self.reports(hosted).isEmpty)
        }
    }

    @Test func `a reply loses its excerpt with a recall of its original, in the tail and on disk`() async throws {
        let directory = try TemporaryDirectory()
        try await HostedRooms.run(directory, Self.options()) { hosted in
            let message = try await Self.filled(hosted)
            #expect(Self.code(try await hosted.ask(Self.reply(hosted, to: message, "1"))[0]) == nil)
            #expect(try await hosted.history().last?.replyTo?.excerpt == "original")
            let answers = try await hosted.ask(
                Self.recall(hosted, message), Self.reply(hosted, to: message, "2"), hosted.send("ann", "between"))
            #expect(answers.map(Self.code) == [nil, nil, nil])
            let replies = try await hosted.history().compactMap(\.replyTo)
            #expect(replies.map(\.messageID) == [message, message] && replies.allSatisfy { $0.excerpt == nil })
            guard
                case .success(.enter(let entered)) = try await hosted.ask(
                    hosted.call("bob", .operation(.enter(EnterRequest(room: HostedRooms.room, history: 100)))))[0]
            else { throw ChatError(.internal, "not entered") }
            let newest = entered.missed?.compactMap(\.replyTo) ?? []
            #expect(newest.count == 2 && newest.allSatisfy { $0.excerpt == nil })
        }
        // Another life of the program reads it from disk.
        try await HostedRooms.run(directory, create: false, Self.options()) { hosted in
            let replies = try await hosted.served { () async throws(ChatError) in
                try await hosted.calls.history(of: HostedRooms.room, HistoryRequest()).messages.compactMap(\.replyTo)
            }
            #expect(replies.count == 2 && replies.allSatisfy { $0.excerpt == nil })
        }
    }

    @Test func `a reply names a kept message of the room`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            let message = try await Self.filled(hosted)
            var unkept = MessageDraft(body: .text("unkept"))
            unkept.keep = false
            let request = SendRequest(room: HostedRooms.room, clientID: "unkept", draft: unkept)
            let signal = try Self.sent(try await hosted.ask(hosted.call("ann", .operation(.send(request))))[0])
            for id in ["m", signal, message + "0", "1-1"] {
                #expect(Self.code(try await hosted.ask(Self.reply(hosted, to: id, id))[0]) == .notFound, "\(id)")
                #expect(Self.code(try await hosted.ask(Self.pin(hosted, id))[0]) == .notFound, "\(id)")
            }
            // Whoever may not is told so, whether there is such a message or not.
            #expect(Self.code(try await hosted.ask(Self.pin(hosted, "m", by: "ann"))[0]) == .forbidden)
        }
    }

    @Test func `pins stay when another leader takes the room over, and the eleventh is refused there, too`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let (messages, result) = try await HostedRooms.run(directory, Self.options()) {
            hosted -> ([String], [String]) in
            var messages = [try await Self.filled(hosted)]
            for number in 2...11 {
                messages.append(try Self.sent(try await hosted.ask(hosted.send("ann", "\(number)"))[0]))
            }
            for message in messages.prefix(10) {
                #expect(Self.code(try await hosted.ask(Self.pin(hosted, message, id: message))[0]) == nil)
            }
            return (messages, try await Self.pinned(hosted))
        }
        #expect(result == Array(messages.prefix(10)))
        try await HostedRooms.run(directory, create: false, Self.options()) { hosted in
            #expect(try await Self.pinned(hosted) == result)
            try await hosted.ask(hosted.enter("owner"))
            // The ack was lost: the repeat gets the first answer, of when it alone was pinned.
            guard
                case .success(.pin(let first)) = try await hosted.ask(
                    Self.pin(hosted, messages[0], id: messages[0]))[0]
            else { throw ChatError(.internal, "not answered") }
            #expect(first.pinned.map(\.messageID) == [messages[0]])
            #expect(Self.code(try await hosted.ask(Self.pin(hosted, messages[10]))[0]) == .conflict)
            #expect(Self.code(try await hosted.ask(Self.pin(hosted, messages[3], enable: false))[0]) == nil)
            #expect(Self.code(try await hosted.ask(Self.pin(hosted, messages[10]))[0]) == nil)
        }
    }

    @Test func `a pin drops out when its message expires, and an expired message can't be pinned`() async throws {
        let ahead = Mutex<Int64>(0)
        var options = Self.options()
        options.now = { HostedRooms.now().adding(milliseconds: ahead.withLock { $0 }) }
        try await HostedRooms.run(try TemporaryDirectory(), options) { hosted in
            let message = try await Self.filled(hosted)
            let second = try Self.sent(try await hosted.ask(hosted.send("ann", "second"))[0])
            #expect(Self.code(try await hosted.ask(Self.pin(hosted, message))[0]) == nil)
            #expect(try await Self.pinned(hosted) == [message])
            ahead.withLock { $0 = 10 * Timestamp.millisecondsPerDay + 60_000 }
            #expect(try await Self.pinned(hosted) == [])
            #expect(Self.code(try await hosted.ask(Self.pin(hosted, second))[0]) == .notFound)
            let third = try Self.sent(try await hosted.ask(hosted.send("ann", "third"))[0])
            guard case .success(.pin(let result)) = try await hosted.ask(Self.pin(hosted, third))[0] else {
                throw ChatError(.internal, "not pinned")
            }
            #expect(result.pinned.map(\.messageID) == [third])
        }
    }

    @Test func `below the level that brings them both are refused, and nothing is looked up`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            let message = try await Self.filled(hosted)
            let answers = try await hosted.ask(
                Self.pin(hosted, message), Self.reply(hosted, to: message, "1"), Self.reply(hosted, to: "m", "2"))
            #expect(answers.map(Self.code) == [.upgrading, .upgrading, .upgrading])
        }
    }

    @Test func `a recall that was applied since the look-up is known, and too many make it unsure`() {
        var erased = RecentSeqs()
        for seq in 1...10 as ClosedRange<UInt64> { erased.note(seq) }
        let before = erased.count
        #expect(erased.contains(3, since: 0) == true && erased.contains(3, since: before) == false)
        for seq in 100..<(100 + UInt64(RecentSeqs.countMax)) { erased.note(seq) }
        #expect(erased.contains(3, since: before) == false && erased.contains(100, since: before) == true)
        erased.note(9_999)
        #expect(erased.contains(9_999, since: before) == nil && erased.contains(9_999, since: erased.count - 1) == true)
    }
}
