import ArgumentParser
import ControlClient

/// `explain ROOM`: why a room is slow or silent.
struct ExplainCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain", abstract: "Why a room is slow or silent, in words and numbers.")

    @Argument var room: String
    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.show(try await common.client().call("GET", ["rooms", room, "explain"]), Self.lines)
    }

    /// The sentences, then the numbers.
    static func lines(_ explanation: JSONTree) -> [String] {
        var lines = explanation["summary"]?.items.map { DisplayText.safe($0.shown) } ?? []
        for name in ["state", "log"] {
            guard case .object(let figures)? = explanation[name] else { continue }
            lines.append("")
            lines += Table.facts(figures.sorted { $0.key < $1.key }.map { (name: $0.key, value: text($0)) })
        }
        let lanes = explanation["lanes"]?.items ?? []
        guard !lanes.isEmpty else { return lines }
        var table = Table(["NODE", "LANE", "VIEWERS", "SLOW", "WAITING BYTES", "LOST MESSAGES", "LOST BARRAGE"])
        for lane in lanes {
            table.add(
                ["node", "lane", "viewers", "slow", "waitingBytes", "messagesDropped", "barrageDropped"].map {
                    lane[$0]?.shown ?? ""
                })
        }
        return lines + [""] + table.lines()
    }

    private static func text(_ figure: (key: String, value: JSONTree)) -> String {
        guard figure.key.hasSuffix("At") || figure.key.hasSuffix("Since"), let time = figure.value.integer else {
            return figure.value.shown
        }
        return TimeText.full(time)
    }
}
