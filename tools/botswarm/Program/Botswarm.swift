import ArgumentParser
import BuildVersion

/// The load tester: bots over real WebSockets, and a ledger that proves what they received.
@main
struct Botswarm: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "botswarm",
        abstract: "Tests a chatroom cluster with bots and proves what they received.",
        discussion: """
            Without --url it finds the cluster that cluster/up started in this directory or one above it. Each bot is a \
            user of its own, except anonymous viewers, and views one room. At the end every bot must have received \
            every acked kept message exactly once and in order, or have been told of the gap; every loss of an unkept \
            message or a barrage must have been told; and the room's history must hold all of it once. Scenarios with \
            seats and managers replay the rooms' streams, and compare all answers with them.

            Exit codes: 0 the ledger balances, 1 it does not, 2 wrong use, 3 the cluster can't be reached.
            The keys come from .run/cluster.json, from --keys FILE, or from the environment: CHATROOM_ADMIN_KEY, \
            CHATROOM_TOKEN_KID, CHATROOM_TOKEN_SECRET.
            """,
        version: BuildVersion.text,
        subcommands: [
            ChatCommand.self, BarrageCommand.self, StormCommand.self, ReconnectCommand.self, SlowCommand.self,
            SeatsCommand.self, ModerateCommand.self, MixedCommand.self, TapsCommand.self, CrowdCommand.self,
            CoordinateCommand.self, WorkCommand.self,
        ], defaultSubcommand: ChatCommand.self)
}
