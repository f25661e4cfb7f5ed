import ArgumentParser
import ChatroomClient
import Foundation

/// A terminal chat in one room: what is typed is sent, what happens is printed.
@main
struct ChatExample: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat-example", abstract: "A terminal chat in a room, with the Swift SDK.",
        discussion: """
            The token is read from the environment variable CHATROOM_TOKEN (arguments are seen by others). Type a line \
            to send it; /barrage TEXT, /history, /members and /quit do what they say. It comes back by itself when the \
            node is stopped and started again.
            """)

    @Option(help: "The gateway.")
    var gateway = "ws://127.0.0.1:7400"

    @Option(help: "The name that others see.")
    var nick: String?

    @Flag(help: "Trust any certificate of a wss:// gateway: for one's own machine only.")
    var insecure = false

    @Argument(help: "The room.")
    var room: String

    func run() async throws {
        var configuration = ChatroomConfiguration(gateways: [gateway])
        let token = ProcessInfo.processInfo.environment["CHATROOM_TOKEN"]
        // An app asks its own server here, each time.
        if let token { configuration.tokenProvider = { token } } else { configuration.settings.anonymous = true }
        configuration.tls.verifiesCertificates = !insecure
        configuration.logLevel = .info
        configuration.logHandler = { level, text in FileHandle.standardError.write(Data("[\(level)] \(text)\n".utf8)) }

        let client = ChatroomClient(configuration)
        let room = try client.room(room)
        // Before entering, so that nothing is missed.
        let events = await room.events()
        let printing = Task { for await event in events { Self.show(event) } }
        try await client.connect()
        let avatar = token == nil ? "https://example.org/guest.png" : nil
        let nick = nick ?? (token == nil ? "guest" : nil)
        let entry = try await room.enter(EnterOptions(nick: nick, avatar: avatar, history: 20))
        print("In \(entry.room.info.name) with \(entry.room.online) online, at seq \(entry.seq).")
        await Self.typing(in: room)
        await client.close()
        await printing.value
    }

    private static func typing(in room: Chatroom) async {
        for await line in lines() where !line.isEmpty {
            do {
                switch line {
                case "/quit": return
                case "/history":
                    for message in try await room.history().messages.reversed() { show(.message(message)) }
                case "/members":
                    for member in try await room.members(.temporary).items + room.members(.fixedOnline).items {
                        print("  \(member.user) \(member.profile.nick) \(member.role.rawValue)")
                    }
                case _ where line.hasPrefix("/barrage "): try await room.barrage(String(line.dropFirst(9)))
                default: try await room.send(line)
                }
            } catch {
                print("! \(error.message)")
            }
        }
    }

    private static func show(_ event: RoomEvent) {
        switch event {
        case .message(let message): show(message)
        case .filled(let messages): for message in messages { show(message) }
        case .barrage(let items):
            for item in items { print("~ \(item.from?.profile.nick ?? "system"): \(item.text) ×\(item.count)") }
        case .state(let state): print("* \(state)")
        case .gap(let gap): print("* not received (\(gap.cause)): \(gap.ranges)")
        case .skipped(let skipped): print("* spared: \(skipped.barrage) barrage, \(skipped.unkept) messages")
        case .kicked(let kick): print("* put out, reason \(kick.reason)")
        case .online(let online): print("* \(online) online")
        case .held(let message): print("* waits for a manager: \(message.messageID)")
        case .denied(let denial): print("* not let through: \(denial.heldID) \(denial.reason ?? "")")
        case .tallies(let totals): for (key, total) in totals { print("* \(key): \(total)") }
        case .entered(let entry): if entry.recovery == .impossible { print("* what was missed cannot be told") }
        case .unsupported(let what): print("* \(what.summary), which this version does not know")
        case .delivery: break
        }
    }

    private static func show(_ message: Message) {
        let who = message.from.map { $0.profile.nick.isEmpty ? $0.user.text : $0.profile.nick } ?? "system"
        let place = message.seq.map { "#\($0)" } ?? "-"
        switch message.body {
        case .text(let text), .tip(let text): print("\(place) \(who): \(text)")
        case .notification(let notification):
            print("\(place) [\(notification.event)] \(notification.targets.map(\.user.text).joined(separator: " "))")
        default: print("\(place) \(who): (\(message.body.type.rawValue))")
        }
    }

    /// The typed lines. Reading blocks, so it has a thread of its own; at most 64 lines wait.
    private static func lines() -> AsyncStream<String> {
        AsyncStream(bufferingPolicy: .bufferingOldest(64)) { continuation in
            Thread.detachNewThread {
                while let line = readLine() { continuation.yield(line) }
                continuation.finish()
            }
        }
    }
}
