import ArgumentParser
import ChatModel
import ControlClient
import FoundationEssentials

/// `barrage ROOM TEXT`.
struct BarrageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "barrage", abstract: "Send a barrage item: shown at once, droppable, never kept.")

    @Argument var room: String
    @Argument var text: String
    @Option(help: "The user who is shown as the sender; absent: the system.") var sender: String?
    @Option var priority: Priority?
    @Option(help: "Text for the app.") var ext: String?
    @Option(help: "How it is drawn, for the app.") var style: String?
    @OptionGroup var common: CommonOptions

    func run() async throws {
        var body: [String: JSONTree] = ["text": .text(text)]
        body["sender"] = sender.map(JSONTree.text)
        body["priority"] = priority.map { .text($0.rawValue) }
        body["ext"] = ext.map(JSONTree.text)
        body["style"] = style.map(JSONTree.text)
        let result = try await common.client().call(
            "POST", ["rooms", room, "barrage"], body: .object(body), idempotencyKey: UUID().uuidString)
        common.show(result) { _ in ["sent"] }
    }
}
