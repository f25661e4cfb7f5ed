import ArgumentParser
import ControlClient
import FoundationEssentials

/// `tallies …`: a room's counters.
struct TalliesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tallies", abstract: "Show and change a room's tallies: likes, gifts.",
        subcommands: [List.self, Set.self, Add.self, Remove.self], defaultSubcommand: List.self)

    /// `tallies list ROOM`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List the tallies.")

        @Argument var room: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call("GET", ["rooms", room, "tallies"])
            common.show(result) { TallyText.table($0["tallies"]?.items ?? []) }
        }
    }

    /// `tallies set ROOM KEY`.
    struct Set: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a tally, or change it.", discussion: "What is not given stays as it is.")

        @Argument var room: String
        @Argument(help: "1 to 32 characters of A-Z a-z 0-9 _ . : -; every room has like.") var key: String
        @Option(help: "The total that it is to have.") var total: Int64?
        @Flag(inversion: .prefixedNo, help: "Whether it takes nothing more.") var closed: Bool?
        @Option(help: "Those who add to it: ANYONE, or SERVER for the app's server alone.") var by: String?
        @OptionGroup var common: CommonOptions

        func run() async throws {
            var body: [String: JSONTree] = [:]
            body["total"] = total.map(JSONTree.integer)
            body["closed"] = closed.map(JSONTree.boolean)
            body["by"] = by.map(JSONTree.text)
            let result = try await common.client().call(
                "PUT", ["rooms", room, "tallies", key], body: .object(body), idempotencyKey: UUID().uuidString)
            common.show(result) { TallyText.table([$0]) }
        }
    }

    /// `tallies add ROOM KEY DELTA`.
    struct Add: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Add to a tally.")

        @Argument var room: String
        @Argument var key: String
        @Argument(help: "Below 0 it takes away: -- -5.") var delta: Int64
        @Option(help: "Repeats with the same key add once.") var idempotencyKey: String?
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["rooms", room, "tallies", key, "add"], body: .object(["delta": .integer(delta)]),
                idempotencyKey: idempotencyKey ?? UUID().uuidString)
            common.show(result) { TallyText.table([$0]) }
        }
    }

    /// `tallies remove ROOM KEY`.
    struct Remove: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Remove a tally; like begins anew.")

        @Argument var room: String
        @Argument var key: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "DELETE", ["rooms", room, "tallies", key], idempotencyKey: UUID().uuidString)
            common.show(result) { _ in ["removed the tally \(DisplayText.safe(key)) of \(DisplayText.safe(room))"] }
        }
    }
}

/// Tallies for people.
enum TallyText {
    static func table(_ tallies: [JSONTree]) -> [String] {
        var table = Table(["KEY", "TOTAL", "STATE", "BY"])
        for tally in tallies {
            table.add([
                tally["key"]?.shown ?? "", tally["total"]?.shown ?? "",
                tally["closed"]?.boolean == true ? "closed" : "open", tally["by"]?.shown ?? "ANYONE",
            ])
        }
        return table.lines()
    }
}
