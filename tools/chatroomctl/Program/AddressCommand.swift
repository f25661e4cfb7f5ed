import ArgumentParser
import ControlClient

/// `address ROOM`.
struct AddressCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "address", abstract: "Where clients of a room connect, best first.")

    @Argument var room: String
    @OptionGroup var common: CommonOptions

    func run() async throws {
        let result = try await common.client().call("GET", ["rooms", room, "address"])
        common.show(result) { ($0["gateways"]?.items ?? []).map { DisplayText.safe($0.shown) } }
    }
}
