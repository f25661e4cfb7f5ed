import ArgumentParser
import ControlClient
import FoundationEssentials

/// `queue …`: a room's ordered list.
struct QueueCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "queue", abstract: "Show and change a room's queue: mic seats, songs.",
        subcommands: [List.self, Set.self, Update.self, Take.self, Clear.self], defaultSubcommand: List.self)

    /// `queue list ROOM`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the elements, in order.")

        @Argument var room: String
        @OptionGroup var page: PageOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let client = try common.client()
            let result = try await page.collect("elements") { after, limit async throws(CommandFailure) in
                try await client.call(
                    "GET", ["rooms", room, "queue"], query: [("after", after), ("limit", limit.map(String.init))])
            }
            common.show(result) { QueueText.table($0["elements"]?.items ?? []) }
            if !common.json { PageOptions.note(result) }
        }
    }

    /// `queue set ROOM KEY VALUE`.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Add an element, or overwrite it in its place.")

        @Argument var room: String
        @Argument var key: String
        @Argument var value: String
        @Option(help: "Whose it is; absent: the operator's, else who had it.") var owner: String?
        @Flag(help: "What is overwritten stays its owner's.") var keepOwner = false
        @Flag(help: "It goes when its owner has gone.") var transient = false
        @Flag(inversion: .prefixedNo, help: "Only managers of the room may change it; absent: as it is.")
        var locked: Bool?
        @Option(help: "Only if the element has this version; 0: only if it is new.") var ifVersion: Int64?
        @OptionGroup var operating: OperatingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            var body = operating.members
            body["value"] = .text(value)
            body["owner"] = owner.map(JSONTree.text)
            if keepOwner { body["keepOwner"] = .boolean(true) }
            if transient { body["transient"] = .boolean(true) }
            body["locked"] = locked.map(JSONTree.boolean)
            body["ifVersion"] = ifVersion.map(JSONTree.integer)
            let result = try await common.client().call(
                "PUT", ["rooms", room, "queue", key], body: .object(body), idempotencyKey: UUID().uuidString)
            common.show(result) { QueueText.table([$0["element"] ?? .null]) }
        }
    }

    /// `queue update ROOM KEY=VALUE …`.
    struct Update: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Give elements that are there new values.")

        @Argument var room: String
        @Argument(help: ArgumentHelp("At most 100.", valueName: "key=value")) var values: [String]
        @OptionGroup var operating: OperatingOptions
        @OptionGroup var common: CommonOptions

        func validate() throws {
            if let bad = values.first(where: { !$0.contains("=") || $0.hasPrefix("=") }) {
                throw ValidationError("'\(bad)' is not key=value.")
            }
            if pairs.count < values.count { throw ValidationError("A key is given twice.") }
        }

        var pairs: [String: JSONTree] {
            var pairs: [String: JSONTree] = [:]
            for value in values {
                let halves = value.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                pairs[String(halves[0])] = .text(halves.count == 2 ? String(halves[1]) : "")
            }
            return pairs
        }

        func run() async throws {
            var body = operating.members
            body["values"] = .object(pairs)
            let result = try await common.client().call(
                "PATCH", ["rooms", room, "queue"], body: .object(body), idempotencyKey: UUID().uuidString)
            common.show(result) { result in
                let missing = result["missing"]?.items.map { DisplayText.safe($0.shown) } ?? []
                return ["updated \(pairs.count - missing.count)"]
                    + (missing.isEmpty ? [] : ["not there: " + missing.joined(separator: ", ")])
            }
        }
    }

    /// `queue take ROOM [KEY]`.
    struct Take: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Take an element out; the head when none is named.")

        @Argument var room: String
        @Argument var key: String?
        @OptionGroup var operating: OperatingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            var body = operating.members
            body["key"] = key.map(JSONTree.text)
            let result = try await common.client().call(
                "POST", ["rooms", room, "queue", "take"], body: .object(body), idempotencyKey: UUID().uuidString)
            common.show(result) { QueueText.table([$0["element"] ?? .null]) }
        }
    }

    /// `queue clear ROOM`.
    struct Clear: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove all elements.")

        @Argument var room: String
        @OptionGroup var operating: OperatingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "DELETE", ["rooms", room, "queue"], body: .object(operating.members),
                idempotencyKey: UUID().uuidString)
            common.show(result) { _ in ["cleared the queue of \(DisplayText.safe(room))"] }
        }
    }
}

/// Elements for people.
enum QueueText {
    static func table(_ elements: [JSONTree]) -> [String] {
        var table = Table(["KEY", "VALUE", "OWNER", "VERSION", "STATE"])
        for element in elements {
            table.add([
                element["key"]?.shown ?? "", element["value"]?.shown ?? "", element["owner"]?.shown ?? "",
                element["version"]?.shown ?? "", state(element),
            ])
        }
        return table.lines()
    }

    private static func state(_ element: JSONTree) -> String {
        ["transient", "held", "locked"].filter { element[$0]?.boolean == true }.joined(separator: ", ")
    }
}
