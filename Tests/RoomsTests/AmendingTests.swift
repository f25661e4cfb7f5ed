import ChatModel
import RoomCore
import RoomProtocol
import StorageTestKit
import Testing
import Wire

@testable import Rooms

/// Amendments, whose messages the leader looks up, beside recalls and other amendments of these.
@Suite(.timeLimit(.minutes(3))) struct AmendingTests {
    private static func code(_ result: Result<OperationResult, ChatError>) -> ErrorCode? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    private static func sent(_ result: Result<OperationResult, ChatError>) throws -> String {
        guard case .send(let sent) = try result.get() else { throw ChatError(.internal, "no ack") }
        return sent.messageID
    }

    private static func amended(_ result: Result<OperationResult, ChatError>) throws -> Message {
        guard case .amend(let amended) = try result.get() else { throw ChatError(.internal, "not amended") }
        return amended.message
    }

    private static func amend(
        _ hosted: HostedRooms, _ messageID: String, _ set: MessageChanges, by name: String = "ann", id: String? = nil
    ) throws -> RoomRequest {
        try hosted.call(
            name,
            .operation(.amend(AmendRequest(room: HostedRooms.room, messageID: messageID, set: set, clientID: id))))
    }

    private static func recall(_ hosted: HostedRooms, _ messageID: String) throws -> RoomRequest {
        try hosted.call("owner", .operation(.recall(RecallRequest(room: HostedRooms.room, messageID: messageID))))
    }

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

    private static func server(_ hosted: HostedRooms, _ messageID: String, _ set: MessageChanges) async throws {
        _ = try await hosted.calls.perform(
            .amend(messageID: messageID, set: set), in: HostedRooms.room, as: .system, id: nil)
    }

    @Test func `two at once are laid one over the other, in the order of their 360s`() async throws {
        let directory = try TemporaryDirectory()
        let message = try await HostedRooms.run(directory, Self.options()) { hosted -> Message in
            let id = try await Self.filled(hosted)
            async let other: Void = Self.server(hosted, id, MessageChanges(ext: "e"))
            async let third: Void = Self.server(hosted, id, MessageChanges(ext: "f"))
            let answers = try await hosted.ask(
                Self.amend(hosted, id, MessageChanges(text: "one")), Self.amend(hosted, id, MessageChanges(text: "two"))
            )
            try await other
            try await third
            let bodies = try answers.map { try Self.amended($0).body }
            #expect(bodies == [.text("one"), .text("two")])
            let history = try await hosted.history()
            var expected = try #require(history.first)
            #expect(history.count == 5 && expected.body == .text("two"))
            var laid = MessageChanges()
            for kept in history.dropFirst() {
                guard case .notification(let told) = kept.body, case .amended(_, 1, let set, let time) = told.data
                else { throw ChatError(.internal, "another event") }
                laid = MessageChanges(text: set.text ?? laid.text, ext: set.ext ?? laid.ext)
                expected.editedAt = time
            }
            #expect(laid.text == "two" && expected.ext == laid.ext && history.first == expected)
            return expected
        }
        // Another life of the program reads it from disk.
        try await HostedRooms.run(directory, create: false, Self.options()) { hosted in
            let found = try await hosted.history().first
            #expect(found == message)
        }
    }

    @Test func `whatever the order of an amendment and a recall, the message stays recalled`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            let first = try await Self.filled(hosted)
            // The recall is proposed first: the amendment waits, and finds it recalled.
            let after = try await hosted.ask(
                Self.recall(hosted, first), Self.amend(hosted, first, MessageChanges(text: "y")))
            #expect(after.map(Self.code) == [nil, .conflict])
            let second = try Self.sent(try await hosted.ask(hosted.send("ann", "second"))[0])
            let before = try await hosted.ask(
                Self.amend(hosted, second, MessageChanges(text: "y")), Self.recall(hosted, second))
            #expect(before.map(Self.code) == [nil, nil])
            let history = try await hosted.history()
            #expect(history.filter(\.isRecalled).map(\.messageID) == [first, second])
        }
    }

    @Test func `a repeat is answered with the message, also by the next leader, and a reply quotes what it says now`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let id = try await HostedRooms.run(directory, Self.options()) { hosted -> String in
            let id = try await Self.filled(hosted)
            let amend = { try Self.amend(hosted, id, MessageChanges(text: "newer"), id: "once") }
            let answers = try await hosted.ask(amend(), amend())
            #expect(try Self.amended(answers[0]) == Self.amended(answers[1]))
            var draft = MessageDraft(body: .text("reply"))
            draft.replyTo = id
            let reply = SendRequest(room: HostedRooms.room, clientID: "r", draft: draft)
            _ = try Self.sent(try await hosted.ask(hosted.call("owner", .operation(.send(reply))))[0])
            let history = try await hosted.history()
            #expect(history.last?.replyTo?.excerpt == "newer" && history.count == 3)
            return id
        }
        try await HostedRooms.run(directory, create: false, Self.options()) { hosted in
            #expect(try await hosted.history().count == 3)
            try await hosted.ask(hosted.enter("ann"))
            let again = try await hosted.ask(Self.amend(hosted, id, MessageChanges(text: "newer"), id: "once"))
            let message = try Self.amended(again[0])
            #expect(message.body == .text("newer") && message.editedAt != nil && message.messageID == id)
            #expect(try await hosted.history().count == 3)
            // Its post is still known, by the row that has changed.
            let lookup = try await hosted.ask(
                hosted.call("ann", .operation(.message(MessageRequest(room: HostedRooms.room, messageID: id)))))
            guard case .message(let found) = try lookup[0].get() else { throw ChatError(.internal, "no message") }
            #expect(found.message == message)
        }
    }

    @Test func `those who enter, and those who come back, are given the message as amended`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            let id = try await Self.filled(hosted)
            _ = try await hosted.ask(Self.amend(hosted, id, MessageChanges(text: "y")))
            guard
                case .success(.enter(let entered)) = try await hosted.ask(
                    hosted.call("bob", .operation(.enter(EnterRequest(room: HostedRooms.room, history: 10)))))[0]
            else { throw ChatError(.internal, "not entered") }
            #expect(entered.missed?.map(\.seq) == [1, 2] && entered.missed?.first?.body == .text("y"))
            let back = EnterRequest(room: HostedRooms.room, since: 0, epoch: entered.epoch)
            guard
                case .success(.enter(let again)) = try await hosted.ask(hosted.call("eve", .operation(.enter(back))))[0]
            else { throw ChatError(.internal, "not entered") }
            #expect(again.missed?.first?.body == .text("y") && again.missed?.first?.editedAt != nil)
        }
    }

    @Test func `what a message was amended to goes with its recall, in the tail and on disk`() async throws {
        let directory = try TemporaryDirectory()
        func sets(_ history: [Message]) -> [MessageChanges] {
            history.compactMap { message in
                guard case .notification(let told) = message.body, case .amended(_, 1, let set, _) = told.data else {
                    return nil
                }
                return set
            }
        }
        try await HostedRooms.run(directory, Self.options()) { hosted in
            let id = try await Self.filled(hosted)
            let secret = MessageChanges(text: "secret", ext: "secret")
            _ = try await hosted.ask(Self.amend(hosted, id, secret), Self.amend(hosted, id, MessageChanges(ext: "e")))
            #expect(sets(try await hosted.history()) == [secret, MessageChanges(ext: "e")])
            _ = try await hosted.ask(Self.recall(hosted, id))
            #expect(sets(try await hosted.history()) == [MessageChanges(), MessageChanges()])
            guard
                case .success(.enter(let entered)) = try await hosted.ask(
                    hosted.call("late", .operation(.enter(EnterRequest(room: HostedRooms.room, history: 100)))))[0]
            else { throw ChatError(.internal, "not entered") }
            #expect(entered.missed?.count == 4)
            #expect(!"\(entered)".contains("secret"))
        }
        // As it is read from its files.
        try await HostedRooms.run(directory, create: false, Self.options()) { hosted in
            let history = try await hosted.served { () async throws(ChatError) in
                try await hosted.calls.history(of: HostedRooms.room, HistoryRequest()).messages
            }
            #expect(sets(history) == [MessageChanges(), MessageChanges()])
        }
    }

    @Test func `copies in a COMBINE stay as they were copied`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            let id = try await Self.filled(hosted)
            let draft = MessageDraft(body: .combine(title: "t", summary: "s", messageIDs: [id]))
            guard
                case .posted(let combine, _, _, _, _) = try await hosted.calls.perform(
                    .post(draft), in: HostedRooms.room, as: .server(UserName(user: try user("ann"), nick: "")), id: nil)
            else { throw ChatError(.internal, "not posted") }
            _ = try await hosted.ask(
                Self.amend(hosted, id, MessageChanges(text: "y")), Self.amend(hosted, combine, MessageChanges(ext: "e"))
            )
            let copies = CombinedRequest(room: HostedRooms.room, messageID: combine)
            guard
                case .combined(let result) = try await hosted.ask(hosted.call("ann", .operation(.combined(copies))))[0]
                    .get()
            else { throw ChatError(.internal, "no copies") }
            #expect(result.messages.map(\.body) == [.text("original")])
        }
    }

    @Test func `below the level that brings it it is refused, and nothing is looked up`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            let message = try await Self.filled(hosted)
            let answers = try await hosted.ask(
                Self.amend(hosted, message, MessageChanges(text: "y")),
                Self.amend(hosted, "m", MessageChanges(text: "y")))
            #expect(answers.map(Self.code) == [.upgrading, .upgrading])
        }
    }
}
