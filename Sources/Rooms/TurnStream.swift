import ChatModel
import RoomCore
import RoomLink
import Wire

/// What a room emits in one turn, in order: things for single sessions, and the messages for everybody, which become
/// one frame, encoded once for each encoding that its viewers use.
struct TurnStream {
    private enum Item {
        case everybody(RoomOutput)
        case one(Lane, RoomOutput)
    }

    private var items: [Item] = []
    private var writer = SharedFrameWriter([])
    private var keptSeqs: ClosedRange<UInt64>?
    private var unkept = 0
    private var numbers: [Lane: UInt64] = [:]

    init() {}

    var isEmpty: Bool { items.isEmpty && writer.isEmpty }

    /// What the viewers of what comes from here on understand. To be told before a newcomer's enter is, and when nobody
    /// who has left will see any more.
    var encodings = ClientEncodings() {
        didSet {
            guard encodings != oldValue else { return }
            endFrame()
            writer = SharedFrameWriter(encodings)
        }
    }

    /// A writer of frames that are not part of the turn's frame.
    var blankWriter: SharedFrameWriter { SharedFrameWriter(encodings) }

    /// A message for all viewers: joins the turn's frame.
    mutating func show(_ message: Message) {
        writer.append(.message(message))
        if let seq = message.seq {
            keptSeqs = (keptSeqs?.lowerBound ?? seq)...seq
        } else {
            unkept += 1
        }
        if writer.byteCount >= Self.frameBytesMax { endFrame() }
    }

    /// A message for some sessions, behind what was shown so far.
    mutating func show(_ message: Message, to sessions: [(lane: Lane, sessions: [SessionID])]) {
        guard !sessions.isEmpty else { return }
        endFrame()
        var writer = blankWriter
        writer.append(.message(message))
        let frame = writer.frame(
            .messages, keptSeqs: message.seq.map { $0...$0 }, unkept: message.seq == nil ? 1 : 0)
        for (lane, sessions) in sessions { items.append(.one(lane, .frameFor(sessions, frame))) }
    }

    /// Something for one session; what was shown before it in this turn may come after it, so an ack precedes the
    /// sender's own push.
    mutating func tell(_ lane: Lane, _ output: RoomOutput) { items.append(.one(lane, output)) }

    /// Something for everybody, behind what was shown so far.
    mutating func tellEverybody(_ output: RoomOutput) {
        endFrame()
        items.append(.everybody(output))
    }

    /// From here on order matters to a session (it enters): what was shown so far becomes a frame of its own.
    mutating func endFrame() {
        guard !writer.isEmpty else { return }
        items.append(.everybody(.frame(writer.frame(.messages, keptSeqs: keptSeqs, unkept: unkept))))
        writer = blankWriter
        keptSeqs = nil
        unkept = 0
    }

    /// Ends the turn: one publication per lane that has viewers or is told something.
    mutating func take(room: RoomID, viewerLanes: [Lane]) -> [(Lane, Publication)] {
        endFrame()
        guard !items.isEmpty else { return [] }
        var outputs: [(lane: Lane, outputs: [RoomOutput])] = viewerLanes.map { ($0, []) }
        // A lane whose last viewer was put out in this turn is told so, and shall see before what put it out.
        for case .one(let lane, _) in items where !outputs.contains(where: { $0.lane == lane }) {
            outputs.append((lane, []))
        }
        for item in items {
            switch item {
            case .everybody(let output):
                for index in outputs.indices { outputs[index].outputs.append(output) }
            case .one(let lane, let output):
                guard let index = outputs.firstIndex(where: { $0.lane == lane }) else { continue }
                outputs[index].outputs.append(output)
            }
        }
        items.removeAll(keepingCapacity: true)
        return outputs.filter { !$0.outputs.isEmpty }.map { lane, outputs in
            let number = (numbers[lane] ?? 0) + 1
            numbers[lane] = number
            return (lane, Publication(room: room, number: number, outputs: outputs))
        }
    }

    /// A frame stays far below the 1 MB that a client must take.
    private static let frameBytesMax = 256 * 1024
}
