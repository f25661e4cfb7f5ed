import ArgumentParser
import ControlClient
import FoundationEssentials

/// `sessions …`: those of everybody.
struct SessionsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "sessions", abstract: "List sessions; end one.", subcommands: [List.self, End.self])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List sessions.")

        @Flag(help: "Only those that do not take what they are sent, worst first; one page.") var slow = false
        @OptionGroup var page: PageOptions
        @OptionGroup var common: CommonOptions

        func validate() throws {
            if slow, page.after != nil || page.all { throw ValidationError("--slow has one page.") }
        }

        func run() async throws {
            let client = try common.client()
            let result = try await page.collect("sessions") { after, limit async throws(CommandFailure) in
                try await client.call(
                    "GET", ["sessions"],
                    query: [("slow", slow ? "true" : nil), ("after", after), ("limit", limit.map(String.init))])
            }
            common.show(result, SessionText.table)
            if !common.json { PageOptions.note(result) }
            common.note(missingNodesOf: result, "their sessions are not listed")
        }
    }

    struct End: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "End a session; its client is told to stop (4403).")

        @Argument var session: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call("DELETE", ["sessions", session])
            common.show(result) { _ in ["ended"] }
        }
    }
}

/// Sessions for people, and messages for them.
enum SessionText {
    static func table(_ result: JSONTree) -> [String] { lines(result, within: Output.columns) }

    static func lines(_ result: JSONTree, within columnsMax: Int?) -> [String] {
        var table = Table(
            ["SESSION", "USER", "DEVICE", "FROM", "SINCE", "WAITING", "LOST", "ROOMS"], uncut: ["SESSION", "USER"])
        for session in result["sessions"]?.items ?? [] {
            table.add([
                text(session, "session"), text(session, "user"), text(session, "device"),
                session["connected"]?.boolean == true ? text(session, "address") : "away",
                session["startedAt"]?.integer.map(TimeText.full) ?? "",
                session["slow"]?.boolean == true ? text(session, "waitingBytes") : "",
                session["slow"]?.boolean == true ? text(session, "lost") : "",
                (session["rooms"]?.items ?? []).map(\.shown).joined(separator: " "),
            ])
        }
        return table.lines(within: columnsMax)
    }

    static func message(_ text: String, sender: String?) -> JSONTree {
        var body: [String: JSONTree] = ["type": .text("TEXT"), "text": .text(text)]
        body["sender"] = sender.map(JSONTree.text)
        return .object(body)
    }

    private static func text(_ session: JSONTree, _ name: String) -> String { session[name]?.shown ?? "" }
}
