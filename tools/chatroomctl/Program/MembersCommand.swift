import ArgumentParser
import ChatModel
import ControlClient

extension MemberKind: ExpressibleByArgument {}

/// `members …`: list a room's members and change what they may do.
struct MembersCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "members", abstract: "List a room's members; set roles, mutes and the blacklist; kick.",
        subcommands: [List.self, SetRole.self, Mute.self, TempMute.self, Blacklist.self, Kick.self],
        defaultSubcommand: List.self)
}

extension MembersCommand {
    /// `members list ROOM`.
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "List a room's members.",
            discussion: "Without --kind: the fixed members, then those who are only here for now.")

        @Argument var room: String
        @Option(help: "Which of them.") var kind: MemberKind?
        @OptionGroup var page: PageOptions
        @OptionGroup var common: CommonOptions

        func validate() throws {
            if kind == nil, page.after != nil { throw ValidationError("--after needs the --kind of the earlier page.") }
        }

        func run() async throws {
            let client = try common.client()
            var members: [JSONTree] = []
            var pages: [JSONTree] = []
            for kind in kind.map({ [$0] }) ?? [.fixed, .temporary] {
                let result = try await page.collect("members") { after, limit async throws(CommandFailure) in
                    try await client.call(
                        "GET", ["rooms", room, "members"],
                        query: [("kind", kind.rawValue), ("after", after), ("limit", limit.map(String.init))])
                }
                members += result["members"]?.items ?? []
                pages.append(result)
            }
            let result = pages.count == 1 ? pages[0] : .object(["members": .array(members)])
            common.show(result) { MemberText.table($0["members"]?.items ?? []) }
            guard !common.json else { return }
            if kind != nil {
                PageOptions.note(result)
            } else if pages.contains(where: { $0["next"] != nil }) {
                Output.note("more follows: --all, or --kind with --after")
            }
        }
    }
}

/// `member ROOM USER`.
struct MemberCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(commandName: "member", abstract: "Show one member of a room.")

    @Argument var room: String
    @Argument var user: String
    @OptionGroup var common: CommonOptions

    func run() async throws {
        common.show(try await common.client().call("GET", ["rooms", room, "members", user]), MemberText.facts)
    }
}
