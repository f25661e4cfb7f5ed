import ArgumentParser
import BuildVersion
import Conformance
import ControlClient
import Glibc

/// The admin tool: the server API (PROTOCOL.md, "Server API") from a terminal.
@main
struct Chatroomctl: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chatroomctl",
        abstract: "Administer a Chatroom Cluster: rooms, messages, members, tokens, health.",
        discussion: """
            Which cluster: --server, else CHATROOM_API, else the nodes of .run/cluster.json (searched from here \
            upward), else 127.0.0.1:7401.
            Admin key: --key-file, else CHATROOM_ADMIN_KEY, else adminKey of .run/cluster.json for its own nodes.
            Exit codes: 0 done, 1 refused by the server, 2 wrong use, 3 no server reached (health: or one that does not serve).
            """,
        version: BuildVersion.text,
        subcommands: [
            RoomsCommand.self, MessagesCommand.self, MediaCommand.self, HistoryCommand.self, ExportCommand.self,
            ImportCommand.self, SearchCommand.self, TailCommand.self,
            TopCommand.self,
            MembersCommand.self,
            MemberCommand.self, QueueCommand.self, TalliesCommand.self, PollsCommand.self,
            ReportsCommand.self, HeldCommand.self, RobotsCommand.self,
            ExplainCommand.self,
            BarrageCommand.self,
            TokenCommand.self, AddressCommand.self, HealthCommand.self, MetricsCommand.self, UsersCommand.self,
            BroadcastCommand.self, SessionsCommand.self, StatsCommand.self, ClusterCommand.self, LogCommand.self,
            BackupCommand.self, RestoreCommand.self, AuditCommand.self, WebhookCommand.self, ModerationCommand.self,
            CallCommand.self,
            ConformanceCommand.self,
        ])

    /// ArgumentParser would end with 64 after wrong use; scripts of this tool rely on the codes above.
    static func main() async {
        do {
            var command = try parseAsRoot()
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let failure as CommandFailure {
            Output.complain(failure.message)
            Glibc.exit(failure.code.rawValue)
        } catch {
            let text = fullMessage(for: error)
            let code = exitCode(for: error)
            guard code.isSuccess else {
                if !text.isEmpty { Output.complain(text) }
                Glibc.exit(code == .validationFailure ? CommandFailure.Code.usage.rawValue : code.rawValue)
            }
            Output.line(text)
        }
    }
}
