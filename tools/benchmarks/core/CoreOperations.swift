import ChatModel
import RoomCore
import RoomProtocol
import SessionCore
import Wire

/// Runs one core operation a number of times, for counting instructions and allocations from outside (run.sh).
@main
struct CoreOperations {
    static let operations: [(name: String, run: @Sendable (Int) -> Int)] = [
        ("apply", apply), ("encode", encode), ("follow", follow), ("sample", sample), ("enqueue", enqueue),
        ("wait", wait),
    ]

    static func main() {
        let arguments = CommandLine.arguments
        guard arguments.count == 3, let count = Int(arguments[2]),
            let operation = operations.first(where: { $0.name == arguments[1] })
        else {
            print("usage: core-operations \(operations.map(\.name).joined(separator: "|")) COUNT")
            return
        }
        print("\(operation.name): \(count) done, \(operation.run(count)) to show for it")
    }

    private static let time = Timestamp(1_700_000_000_000)

    private static func id<ID>(_ id: ID?) -> ID {
        guard let id else { preconditionFailure("these are IDs") }
        return id
    }

    /// A member's message in an open room: checks, seq, the ledger of commands, effects.
    private static func apply(_ count: Int) -> Int {
        let room = id(RoomID("room"))
        let users = (0..<100).map { id(UserID("user-\($0)")) }
        var state = RoomState(absent: room)
        var effects = state.apply(
            Command(
                id: nil, room: room, actor: .system, body: .createRoom(creator: users[0], set: RoomChanges())),
            key: nil, at: Stamp(index: 1, time: time)
        ).count
        let draft = MessageDraft(body: .text(String(repeating: "x", count: 200)))
        for number in 0..<count {
            let user = users[number % users.count]
            // Made where it is used, and not copied.
            effects +=
                state.apply(
                    Command(
                        id: nil, room: room, actor: .member(user, Profile(nick: "nick"), anonymous: false),
                        body: .post(draft)),
                    key: CommandKey(high: 7, low: UInt64(number)),
                    at: Stamp(index: UInt64(number) + 2, time: time.adding(milliseconds: Int64(number)))
                ).count
        }
        return effects
    }

    /// A member's message as a follower gets it: the log's entry, whose command is read anew; so many members in turn that
    /// none is known from the entries before.
    private static func follow(_ count: Int) -> Int {
        let entries = (0..<8).map { number in
            let actor = Actor.member(id(UserID("user-\(number)")), Profile(nick: "nick"), anonymous: false)
            let command = Command(
                id: CommandID(scope: "user-\(number)", text: "client-7"), room: id(RoomID("room")), actor: actor,
                body: .post(MessageDraft(body: .text(String(repeating: "x", count: 200)))))
            return LogCodec.encode(command, time: time)
        }
        var found = 0
        var known = KnownCommandParts()
        for number in 0..<count {
            do throws(WireError) {
                let (command, _) = try LogCodec.decode(entries[number & 7], known: &known)
                if command.id != nil { found += 1 }
            } catch { preconditionFailure(error.message) }
        }
        return found
    }

    private static func message(_ number: Int) -> Message {
        var message = Message(
            room: id(RoomID("room")), place: .kept(seq: UInt64(number) + 1), messageID: "message-\(number)", time: time,
            from: Sender(user: id(UserID("user")), profile: Profile(nick: "nick"), role: .guest),
            body: .text(String(repeating: "x", count: 200)))
        message.clientID = "client-\(number)"
        return message
    }

    /// A message as a frame for all viewers, in both encodings.
    private static func encode(_ count: Int) -> Int {
        let message = message(7)
        var bytes = 0
        for _ in 0..<count {
            var writer = SharedFrameWriter([.json, .protobuf])
            writer.append(message)
            let frame = writer.frame(.messages, keptSeqs: 8...8)
            bytes += (frame.json?.count ?? 0) + (frame.protobuf?.count ?? 0)
        }
        return bytes
    }

    /// A barrage item, of a hundred times as many as a viewer gets: 2,000 in each window.
    private static func sample(_ count: Int) -> Int {
        let perWindow = 2000
        let senders = (0..<100).map { number in
            (id(PresenceKey.robot(id(UserID("user-\(number)")))), id(UserID("user-\(number)")))
        }
        var window = BarrageWindow(perSecond: 200, highPerSecond: 10)
        var shown = 0
        for number in 0..<count {
            let now = time.adding(milliseconds: Int64(number / perWindow) * 100)
            let (key, user) = senders[number % senders.count]
            let sender = Sender(user: user, profile: Profile(nick: "nick"), role: .guest)
            window.add(BarrageItem(from: sender, text: "a remark, number \(number)", time: now), from: key)
            if number % perWindow == perWindow - 1 { shown += window.take(at: now).items.count }
        }
        return shown
    }

    /// A frame for one of 1,000 viewers: the room's part of a delivery, without the write.
    private static func enqueue(_ count: Int) -> Int {
        let viewers = 1000
        var fanOut = FanOut<Int>()
        for _ in 0..<viewers { fanOut.add() }
        var given = 0
        for round in 0..<max(1, count / viewers) {
            fanOut.append(round)
            while fanOut.walk(atMost: 256, { index, from in given += index &- from }) == nil {}
        }
        return given
    }

    private struct Frame: QueuedFrame {
        var byteCount: Int { 400 }
        var traffic: FrameTraffic { .messages }
        var room: RoomID?
        var keptSeqs: ClosedRange<UInt64>?
        var unkeptCount: Int { 0 }
        var barrageCount: Int { 0 }
    }

    /// A frame that waits for a full socket, in a queue that is at its bound: put in, and lost in the end.
    private static func wait(_ count: Int) -> Int {
        let room = RoomID("room")
        var queue = SendQueue<Frame>()
        var losses = Losses()
        var rooms = 0
        for number in 1...count {
            queue.append(Frame(room: room, keptSeqs: UInt64(number)...UInt64(number)))
            guard queue.byteCount > 256 * 1024 else { continue }
            queue.shed(to: 256 * 1024, losses: &losses)
            rooms += losses.take().count
        }
        return rooms
    }
}
