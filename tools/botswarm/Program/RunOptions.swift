import ArgumentParser
import BotSwarmCore

/// Where a run goes, and what it leaves.
struct RunOptions: ParsableArguments {
    @OptionGroup var place: TargetOptions

    @Option(help: "A tag of 1-16 lower-case letters and digits in the bots' names; random when absent.")
    var run: String?

    @Flag(help: "Print the report as JSON.")
    var json = false

    @Option(
        help: ArgumentHelp("Write the report with plots too, as one HTML page.", valueName: "file"), completion: .file()
    )
    var html: String?
}
