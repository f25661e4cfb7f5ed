import ArgumentParser
import ChatModel
import ControlClient
import FoundationEssentials

extension FixedRole: ExpressibleByArgument {}

/// Options of calls that are made in somebody's name and tell the room.
struct OperatingOptions: ParsableArguments {
    @OptionGroup var notifying: NotifyingOptions
    @Option(
        name: .customLong("operator"),
        help: "In whose name; for roles, mutes and kicks with the rank that he has. Absent: the system.")
    var operatorName: String?

    var members: [String: JSONTree] {
        var members = notifying.members
        members["operator"] = operatorName.map(JSONTree.text)
        return members
    }
}

extension MembersCommand {
    /// `members role ROOM USER ROLE`.
    struct SetRole: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "role", abstract: "Make a user MANAGER, NORMAL or GUEST; also who is away.")

        @OptionGroup var who: MemberArguments
        @Argument var role: FixedRole
        @OptionGroup var operating: OperatingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            try await who.put("role", ["role": .text(role.rawValue)], operating: operating, common: common)
        }
    }

    /// `members mute ROOM USER [--off]`.
    struct Mute: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Mute a user for good, or lift that.")

        @OptionGroup var who: MemberArguments
        @Flag(help: "Lift it.") var off = false
        @OptionGroup var operating: OperatingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            try await who.put("mute", ["enable": .boolean(!off)], operating: operating, common: common)
        }
    }

    /// `members temp-mute ROOM USER SECONDS`.
    struct TempMute: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Mute a user for so many seconds; 0 lifts.")

        @OptionGroup var who: MemberArguments
        @Argument(help: "0 to 2592000.") var seconds: Int64
        @OptionGroup var operating: OperatingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            try await who.put("tempMute", ["seconds": .integer(seconds)], operating: operating, common: common)
        }
    }

    /// `members blacklist ROOM USER [--off]`.
    struct Blacklist: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Forbid a user to enter and put him out, or lift that.")

        @OptionGroup var who: MemberArguments
        @Flag(help: "Lift it.") var off = false
        @OptionGroup var operating: OperatingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            try await who.put("blacklist", ["enable": .boolean(!off)], operating: operating, common: common)
        }
    }

    /// `members kick ROOM USER`.
    struct Kick: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Put a user out of a room.")

        @OptionGroup var who: MemberArguments
        @Option(help: "Also forbid entering for so many seconds, at most 2592000; 0 lifts a ban.") var banSeconds:
            Int64?
        @OptionGroup var operating: OperatingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            var body = operating.members
            body["banSeconds"] = banSeconds.map(JSONTree.integer)
            let result = try await common.client().call(
                "POST", ["rooms", who.room, "members", who.user, "kick"], body: .object(body),
                idempotencyKey: UUID().uuidString)
            common.show(result) { _ in ["put out \(DisplayText.safe(who.user))"] }
        }
    }
}

/// The member that a call is about.
struct MemberArguments: ParsableArguments {
    @Argument var room: String
    @Argument var user: String

    /// Changes the member and shows what it has become.
    func put(
        _ action: String, _ fields: [String: JSONTree], operating: OperatingOptions, common: CommonOptions
    ) async throws {
        let result = try await common.client().call(
            "PUT", ["rooms", room, "members", user, action], body: .object(fields.merging(operating.members) { $1 }),
            idempotencyKey: UUID().uuidString)
        common.show(result) { MemberText.facts($0["member"] ?? .null) }
    }
}
