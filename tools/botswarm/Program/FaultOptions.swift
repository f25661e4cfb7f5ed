import ArgumentParser
import BotSwarmCore

/// Faults of clients that may happen in any stage.
struct FaultOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Connections to cut off, so that bots have to resume.", valueName: "per-second"))
    var cuts = 0.0

    @Option(help: ArgumentHelp("Bots that stop reading for a while, so that they are slow.", valueName: "per-second"))
    var stalls = 0.0

    @Option(help: ArgumentHelp("How long such a bot does not read.", valueName: "seconds"))
    var stallSeconds = 5.0

    func stages(_ stages: [Stage]) -> [Stage] {
        stages.map { stage in
            var stage = stage
            stage.cutsPerSecond += cuts
            stage.stallsPerSecond += stalls
            stage.stallSeconds = stallSeconds
            return stage
        }
    }
}
