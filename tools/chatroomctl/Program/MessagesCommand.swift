import ArgumentParser
import ChatModel
import ControlClient
import FoundationEssentials

/// `messages …`: send, one page of history, one message.
struct MessagesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "messages",
        abstract: "Send messages; read a page of history or one message; take messages back; amend; pin.",
        subcommands: [Send.self, List.self, Get.self, Recall.self, Amend.self, Pin.self, Unpin.self])

    struct Recall: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Take back one message, or all of a user.",
            discussion: "A message that is taken back stays in history without its body; the room is told by 323.")

        @Argument var room: String
        @Argument(help: "The message's ID; or give --user.") var messageID: String?
        @Option(help: "All kept messages of this user.") var user: String?
        @Option(help: "With --user: only those of then (Unix milliseconds) and later.") var since: Int64?
        @OptionGroup var notifying: NotifyingOptions
        @OptionGroup var common: CommonOptions

        func validate() throws {
            guard (messageID == nil) != (user == nil) else { throw ValidationError("Give a message ID or --user.") }
            if since != nil, user == nil { throw ValidationError("--since belongs to --user.") }
        }

        func run() async throws {
            var body = notifying.members
            body["user"] = user.map(JSONTree.text)
            body["since"] = since.map(JSONTree.integer)
            let path = ["rooms", room, "messages"] + (messageID.map { [$0, "recall"] } ?? ["recall"])
            let done = try await common.client().call(
                "POST", path, body: .object(body), idempotencyKey: UUID().uuidString)
            common.show(done) { _ in ["recalled"] }
        }
    }

    struct Amend: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Change a kept message, whose ever.",
            discussion:
                "The room is told by 360; history then has the message as it was changed. TEXT and TIP have a text, "
                + "CUSTOM has content, all have ext.")

        @Argument var room: String
        @Argument var messageID: String
        @Option(help: "The text of TEXT and TIP.") var text: String?
        @Option(help: "The content of CUSTOM.") var content: String?
        @Option(help: "Text for the app.") var ext: String?
        @Option(name: .customLong("operator"), help: "The user who is named in the 360; absent: the system.")
        var operatorID: String?
        @OptionGroup var common: CommonOptions

        func validate() throws {
            if text == nil, content == nil, ext == nil { throw ValidationError("Give --text, --content or --ext.") }
        }

        func run() async throws {
            var set: [String: JSONTree] = [:]
            set["text"] = text.map(JSONTree.text)
            set["content"] = content.map(JSONTree.text)
            set["ext"] = ext.map(JSONTree.text)
            var body: [String: JSONTree] = ["set": .object(set)]
            body["operator"] = operatorID.map(JSONTree.text)
            let message = try await common.client().call(
                "POST", ["rooms", room, "messages", messageID, "amend"], body: .object(body),
                idempotencyKey: UUID().uuidString)
            common.show(message, MessageText.facts)
        }
    }

    struct Pin: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Pin a kept message.",
            discussion: "A room has at most 10 pinned messages; the room is told by 361. What is recalled or expires "
                + "drops out.")

        @Argument var room: String
        @Argument var messageID: String
        @OptionGroup var notifying: NotifyingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            try await MessagesCommand.pin(room, messageID, enable: true, notifying: notifying, common: common)
        }
    }

    struct Unpin: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Take the pin of a message away.")

        @Argument var room: String
        @Argument var messageID: String
        @OptionGroup var notifying: NotifyingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            try await MessagesCommand.pin(room, messageID, enable: false, notifying: notifying, common: common)
        }
    }

    private static func pin(
        _ room: String, _ messageID: String, enable: Bool, notifying: NotifyingOptions, common: CommonOptions
    ) async throws {
        var body = notifying.members
        body["enable"] = .boolean(enable)
        let answer = try await common.client().call(
            "POST", ["rooms", room, "messages", messageID, "pin"], body: .object(body),
            idempotencyKey: UUID().uuidString)
        common.show(answer) { answer in
            let pinned = answer["pinned"]?.items ?? []
            return ["\(pinned.count) pinned"]
                + pinned.map { "#\($0["seq"]?.shown ?? "")  \($0["messageId"]?.shown ?? "")" }
        }
    }

    struct Send: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Send a message to a room.",
            discussion: "TEXT, TIP, CUSTOM and COMMAND take their text, content or base64 payload as CONTENT; what "
                + "other types need comes with --fields as a JSON object.")

        @Argument var room: String
        @Argument(help: "Text of TEXT and TIP, content of CUSTOM, base64 payload of COMMAND.") var content: String?
        @Option(help: "The user who is shown as the sender; absent: the system.") var sender: String?
        @Option(help: "The message's type.") var type = MessageType.text
        @Option(help: "Fields of the message as a JSON object.") var fields: String?
        @Option var priority: Priority?
        @Option(help: "Text for the app.") var ext: String?
        @Option(name: .customLong("mention"), help: "A mentioned user; can be repeated.") var mentions: [String] = []
        @Option(name: .customLong("to"), help: "Only this user gets it; can be repeated.") var to: [String] = []
        @Option(help: "The ID of the kept message that it answers.") var replyTo: String?
        @Flag(help: "Do not keep it in history.") var noHistory = false
        @Option(help: "Repeats with the same key send one message.") var idempotencyKey: String?
        @OptionGroup var common: CommonOptions

        func validate() throws {
            if let fields, (try? JSONDecoder().decode([String: JSONTree].self, from: Data(fields.utf8))) == nil {
                throw ValidationError("--fields must be a JSON object.")
            }
            if content == nil, fields == nil { throw ValidationError("Give the message's content or --fields.") }
            if content != nil, contentField == nil {
                throw ValidationError("\(type.rawValue) takes no content; use --fields.")
            }
        }

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["rooms", room, "messages"], body: .object(body),
                idempotencyKey: idempotencyKey ?? UUID().uuidString)
            common.show(result) { sent in
                if let heldID = sent["heldId"]?.shown { return ["held for a manager: \(heldID)"] }
                let place =
                    sent["seq"]?.integer.map { "seq \($0)" } ?? "not kept, after seq \(sent["after"]?.shown ?? "?")"
                return ["sent \(sent["messageId"]?.shown ?? ""), \(place)"]
            }
        }

        private var contentField: String? {
            switch type {
            case .text, .tip: "text"
            case .custom: "content"
            case .command: "payload"
            default: nil
            }
        }

        var body: [String: JSONTree] {
            let given = fields.flatMap { try? JSONDecoder().decode([String: JSONTree].self, from: Data($0.utf8)) }
            var body = given ?? [:]
            body["type"] = .text(type.rawValue)
            if let content, let contentField { body[contentField] = .text(content) }
            if let sender { body["sender"] = .text(sender) }
            if let priority { body["priority"] = .text(priority.rawValue) }
            if let ext { body["ext"] = .text(ext) }
            if !mentions.isEmpty { body["mentions"] = .array(mentions.map(JSONTree.text)) }
            if !to.isEmpty { body["to"] = .array(to.map(JSONTree.text)) }
            if let replyTo { body["replyTo"] = .text(replyTo) }
            if noHistory { body["history"] = .boolean(false) }
            return body
        }
    }

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "One page of history, newest first unless told otherwise.")

        @Argument var room: String
        @Option(help: "Items of the page, 1-100.") var limit: Int?
        @Option var order: Order?
        @Option(help: "Comma-separated message types.") var types: String?
        @Option(help: "Unix milliseconds; 0 is the newest or the oldest kept.") var startTime: Int64?
        @Option var beforeSeq: UInt64?
        @Option var afterSeq: UInt64?
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let query: [(String, String?)] = [
                ("limit", limit.map(String.init)), ("order", order?.rawValue), ("types", types),
                ("startTime", startTime.map { String($0) }), ("beforeSeq", beforeSeq.map { String($0) }),
                ("afterSeq", afterSeq.map { String($0) }),
            ]
            let page = try await common.client().call("GET", ["rooms", room, "messages"], query: query)
            common.show(page) { MessageText.lines($0["messages"]?.items ?? []) }
            if !common.json, page["more"]?.boolean == true { Output.note("there is more in that direction") }
        }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show one message.")

        @Argument var room: String
        @Argument var messageID: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let message = try await common.client().call("GET", ["rooms", room, "messages", messageID])
            common.show(message, MessageText.facts)
        }
    }

    enum Order: String, ExpressibleByArgument, CaseIterable {
        case descending = "DESC"
        case ascending = "ASC"
    }
}

extension MessageType: ExpressibleByArgument {
    /// All but NOTIFICATION, which only the room emits.
    public static var allValueStrings: [String] { allCases.filter { $0 != .notification }.map(\.rawValue) }

    public init?(argument: String) {
        guard Self.allValueStrings.contains(argument) else { return nil }
        self.init(rawValue: argument)
    }
}
extension Priority: ExpressibleByArgument {}
