import ArgumentParser
import ChatModel
import ControlClient
import FoundationEssentials

/// `rooms …`: create, list, read, change, close, reopen and delete rooms.
struct RoomsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rooms", abstract: "Create, list, read, change, mute, close, reopen, delete and undelete rooms.",
        subcommands: [
            List.self, Get.self, Create.self, Update.self, Mute.self, Close.self, Reopen.self, Delete.self,
            Undelete.self,
        ])

    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "List rooms.")

        enum Sort: String, ExpressibleByArgument, CaseIterable {
            case online
        }

        @Option(help: "Those with the most people first; active rooms only.") var sort: Sort?
        @Flag(help: "Deleted rooms that can be restored.") var deleted = false
        @OptionGroup var page: PageOptions
        @OptionGroup var common: CommonOptions

        func validate() throws {
            guard !deleted || sort == nil else { throw ValidationError("--deleted and --sort cannot go together.") }
        }

        func run() async throws {
            let client = try common.client()
            let result = try await page.collect("rooms") { after, limit async throws(CommandFailure) in
                try await client.call(
                    "GET", ["rooms"],
                    query: [
                        ("after", after), ("limit", limit.map(String.init)), ("sort", sort?.rawValue),
                        ("deleted", deleted ? "true" : nil),
                    ])
            }
            common.show(result) {
                let rooms = $0["rooms"]?.items ?? []
                return deleted ? RoomText.deleted(rooms) : RoomText.table(rooms)
            }
            if !common.json { PageOptions.note(result) }
        }
    }

    struct Get: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Show one room.")

        @Argument var room: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            common.show(try await common.client().call("GET", ["rooms", room]), RoomText.facts)
        }
    }

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Create a room.")

        @Option(help: "The user who owns the room.") var creator: String
        @Option(help: "The room's ID; generated when absent.") var id: String?
        @OptionGroup var settings: RoomSettingsOptions
        @Option(help: "Repeats with the same key create one room.") var idempotencyKey: String?
        @OptionGroup var common: CommonOptions

        func run() async throws {
            var body = settings.members
            body["id"] = id.map(JSONTree.text)
            body["creator"] = .text(creator)
            let room = try await common.client().call(
                "POST", ["rooms"], body: .object(body), idempotencyKey: idempotencyKey ?? UUID().uuidString)
            common.show(room, RoomText.facts)
        }
    }

    struct Update: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Change a room; what is not given stays.")

        @Argument var room: String
        @OptionGroup var settings: RoomSettingsOptions
        @OptionGroup var notifying: NotifyingOptions
        @OptionGroup var common: CommonOptions

        func validate() throws {
            if settings.members.isEmpty { throw ValidationError("Nothing to change was given.") }
        }

        func run() async throws {
            let body = settings.members.merging(notifying.members) { $1 }
            let room = try await common.client().call(
                "PATCH", ["rooms", room], body: .object(body), idempotencyKey: UUID().uuidString)
            common.show(room, RoomText.facts)
        }
    }

    struct Mute: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Mute a room, so that only its creator and managers send; or lift that.")

        @Argument var room: String
        @Flag(help: "Lift it.") var off = false
        @OptionGroup var operating: OperatingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            var body = operating.members
            body["enable"] = .boolean(!off)
            let result = try await common.client().call(
                "PUT", ["rooms", room, "mute"], body: .object(body), idempotencyKey: UUID().uuidString)
            common.show(result) { _ in ["\(off ? "unmuted" : "muted") \(DisplayText.safe(room))"] }
        }
    }

    struct Close: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Close a room: everybody leaves, nobody enters until it is reopened.")

        @Argument var room: String
        @OptionGroup var notifying: NotifyingOptions
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["rooms", room, "close"], body: .object(notifying.members), idempotencyKey: UUID().uuidString)
            common.show(result) { _ in ["closed \(DisplayText.safe(room))"] }
        }
    }

    struct Reopen: AsyncParsableCommand {
        static let configuration = CommandConfiguration(abstract: "Reopen a closed room with everything in it.")

        @Argument var room: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["rooms", room, "reopen"], idempotencyKey: UUID().uuidString)
            common.show(result) { _ in ["reopened \(DisplayText.safe(room))"] }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete a room; rooms undelete has it back, for 24 hours as nodes are set by default.")

        @Argument var room: String
        @Flag(help: "Don't ask.") var yes = false
        @Flag(help: "For good, also a room that was deleted before.") var now = false
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let client = try common.client()
            if !yes { try confirm() }
            let result = try await client.call(
                "DELETE", ["rooms", room], query: [("now", now ? "true" : nil)], idempotencyKey: UUID().uuidString)
            let hint = now ? "" : "; chatroomctl rooms undelete has it back"
            common.show(result) { _ in ["deleted \(DisplayText.safe(room))\(hint)"] }
        }

        /// The room's ID must be typed again. Throws where nobody types it, or something else.
        private func confirm() throws(CommandFailure) {
            let name = DisplayText.safe(room)
            let what = now ? "Everything in it is gone for good." : "Everybody in it has to leave."
            Output.note("Delete \(name)? \(what) Type its ID to delete it:")
            guard let typed = readLine(), typed == room else {
                throw CommandFailure(.refused, "\(name) was not deleted; --yes deletes it without asking")
            }
        }
    }

    struct Undelete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Have a deleted room back: closed, with its members, its history and its lasting queue.",
            discussion: "rooms list --deleted shows the rooms that can be restored, and until when.")

        @Argument var room: String
        @OptionGroup var common: CommonOptions

        func run() async throws {
            let result = try await common.client().call(
                "POST", ["rooms", room, "undelete"], idempotencyKey: UUID().uuidString)
            let name = DisplayText.safe(room)
            common.show(result) { _ in ["\(name) is back, and closed: chatroomctl rooms reopen \(name)"] }
        }
    }
}

extension EntryLevel: ExpressibleByArgument {}
extension QueueLevel: ExpressibleByArgument {}
extension EnterExitNotify: ExpressibleByArgument {}

/// The settings of a room that creating and changing have in common.
struct RoomSettingsOptions: ParsableArguments {
    @Option var name: String?
    @Option var announcement: String?
    @Option(help: "Text for the app.") var ext: String?
    @Option(help: "Where the room's stream is watched.") var broadcastUrl: String?
    @Option(help: "Who may enter.") var entry: EntryLevel?
    @Option(help: "Who may change the queue.") var queueLevel: QueueLevel?
    @Option(help: "Whose enters and exits are told.") var enterExitNotify: EnterExitNotify?
    @Option(help: "One message per user in so many seconds; 0 is off.") var slowModeSeconds: Int64?
    @Option(help: "Close after so many seconds without anyone; 0 is never.") var idleCloseSeconds: Int64?
    @Option(help: "Messages a second to one viewer of a big room.") var viewerBudget: Int64?
    @Option(help: "HIGH messages a second, 1 to 50; further ones count as NORMAL.") var highPerSecond: Int64?
    @Option(help: "Transient elements of the queue that a user may own; 0 is any number.") var seatsPerUser: Int64?
    @Option(help: "For how many days messages are visible, 1 to 3650.") var historyDays: Int64?

    var members: [String: JSONTree] {
        var members: [String: JSONTree] = [:]
        members["name"] = name.map(JSONTree.text)
        members["announcement"] = announcement.map(JSONTree.text)
        members["ext"] = ext.map(JSONTree.text)
        members["broadcastUrl"] = broadcastUrl.map(JSONTree.text)
        members["entry"] = entry.map { .text($0.rawValue) }
        members["queueLevel"] = queueLevel.map { .text($0.rawValue) }
        members["enterExitNotify"] = enterExitNotify.map { .text($0.rawValue) }
        members["slowModeSeconds"] = slowModeSeconds.map(JSONTree.integer)
        members["idleCloseSeconds"] = idleCloseSeconds.map(JSONTree.integer)
        members["viewerBudget"] = viewerBudget.map(JSONTree.integer)
        members["highPerSecond"] = highPerSecond.map(JSONTree.integer)
        members["seatsPerUser"] = seatsPerUser.map(JSONTree.integer)
        members["historyDays"] = historyDays.map(JSONTree.integer)
        return members
    }
}
