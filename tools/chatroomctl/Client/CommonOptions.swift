import ArgumentParser
import FoundationEssentials

/// The options of every command.
package struct CommonOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("The server API's address; https://host:port where it speaks TLS.", valueName: "host:port"))
    package var server: String?

    @Option(
        help: ArgumentHelp("Certificates in PEM that are trusted instead of the system's roots.", valueName: "file"),
        completion: .file())
    package var caFile: String?

    @Option(
        help: ArgumentHelp("A file with the admin key, readable by its owner only.", valueName: "file"),
        completion: .file())
    package var keyFile: String?

    @Flag(help: "Print the server's JSON instead of text for people.")
    package var json = false

    package init() {}

    package func client() throws(CommandFailure) -> AdminClient {
        let directory = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)
        let target = try Target.find(
            server: server, keyFile: keyFile, environment: ProcessInfo.processInfo.environment, directory: directory)
        return AdminClient(target: target, transport: try NetworkTransport(trustFile: caFile))
    }

    /// Prints a result: JSON as one line, else the lines that `text` makes of it.
    package func show(_ result: JSONTree, _ text: (JSONTree) -> [String]) {
        if json {
            Output.line(result.line)
        } else {
            for line in text(result) { Output.line(line) }
        }
    }

    /// Says which nodes have not answered, and what that means for a result that was shown.
    package func note(missingNodesOf result: JSONTree, _ meaning: String) {
        let missing = (result["missing"]?.items ?? []).map { DisplayText.safe($0.shown) }
        guard !json, !missing.isEmpty else { return }
        Output.note("no answer from \(missing.joined(separator: ", ")): \(meaning)")
    }
}

/// Options of the calls that emit a notification.
package struct NotifyingOptions: ParsableArguments {
    @Flag(help: "Do not notify the room's members.")
    package var silent = false

    @Option(help: "Text that travels in the notification (notifyExt).")
    package var notifyExt: String?

    package init() {}

    package var members: [String: JSONTree] {
        var members: [String: JSONTree] = [:]
        if silent { members["notify"] = .boolean(false) }
        members["notifyExt"] = notifyExt.map(JSONTree.text)
        return members
    }
}

/// Options of listings that come in pages.
package struct PageOptions: ParsableArguments {
    @Option(help: "Items of a page, 1-100.")
    package var limit: Int?

    @Option(help: ArgumentHelp("Continue behind this cursor of an earlier page.", valueName: "cursor"))
    package var after: String?

    @Flag(help: "Follow all pages.")
    package var all = false

    package init() {}

    static let pageItemsMax = 100

    /// One page, or all of them as one, under the member `name`.
    package func collect(
        _ name: String, _ page: (_ after: String?, _ limit: Int?) async throws(CommandFailure) -> JSONTree
    ) async throws(CommandFailure) -> JSONTree {
        var result = try await page(after, all ? limit ?? Self.pageItemsMax : limit)
        guard all else { return result }
        var items = result[name]?.items ?? []
        // Nodes that did not answer: one is enough for a list with holes.
        var missing = result["missing"]?.items
        while let next = result["next"]?.text {
            result = try await page(next, limit ?? Self.pageItemsMax)
            items += result[name]?.items ?? []
            let more = (result["missing"]?.items ?? []).filter { node in missing?.contains(node) != true }
            if !more.isEmpty { missing = (missing ?? []) + more }
        }
        var all = [name: JSONTree.array(items)]
        if let missing { all["missing"] = .array(missing) }
        return .object(all)
    }

    /// How to go on, for people.
    package static func note(_ result: JSONTree) {
        if let next = result["next"]?.text { Output.note("more follows: --after '\(DisplayText.safe(next))' or --all") }
    }
}
