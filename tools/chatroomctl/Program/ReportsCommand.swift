import ArgumentParser
import ControlClient
import FoundationEssentials

/// `reports ROOM`: the messages that members have reported.
struct ReportsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reports", abstract: "List the messages of a room that members have reported, the oldest first.",
        discussion: "A room keeps the last 1,000 reports. --after takes the ID of a report: what came later is listed.")

    @Argument var room: String
    @OptionGroup var page: PageOptions
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let client = try common.client()
        let result = try await page.collect("reports") { after, limit async throws(CommandFailure) in
            try await client.call(
                "GET", ["rooms", room, "reports"], query: [("after", after), ("limit", limit.map(String.init))])
        }
        common.show(result) { ReportText.table($0["reports"]?.items ?? []) }
        if !common.json { PageOptions.note(result) }
    }
}

/// Reports for people.
enum ReportText {
    static func table(_ reports: [JSONTree]) -> [String] {
        var table = Table(["ID", "TIME", "MESSAGE", "SENDER", "TEXT", "REPORTED BY", "REASON"])
        for report in reports {
            table.add([
                report["id"]?.shown ?? "", report["time"]?.integer.map(TimeText.full) ?? "",
                report["messageId"]?.shown ?? "", report["from"]?["user"]?.shown ?? "system",
                report["excerpt"]?.shown ?? "-", report["reporter"]?["user"]?.shown ?? "",
                report["reason"]?.shown ?? "",
            ])
        }
        return table.lines()
    }
}
