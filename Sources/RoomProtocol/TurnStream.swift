import ChatModel
import RoomCore
import Wire

/// The output of a room in one turn, in order: things for single sessions, and the messages for everybody, which become
/// one frame, encoded once for each encoding that its viewers use.
package struct TurnStream {
    private enum Item {
        case everybody(RoomOutput)
        case one(Lane, RoomOutput)
    }

    private var items: [Item] = []
    private var writer = SharedFrameWriter([])
    private var keptSeqs: ClosedRange<UInt64>?
    private var unkept = 0
    /// Lanes that have announced viewers and not said what they have been shown.
    private var waiting: Set<Lane> = [] { didSet { waitingVersion &+= 1 } }
    /// Another one whenever another lane waits, or none.
    package private(set) var waitingVersion: UInt64 = 0
    /// Before which item a lane has joined in this turn.
    private var joined: [Lane: Int] = [:]
    /// The sum of what everybody has been shown, or told to have been spared, that is in no history.
    private struct Unkept {
        var barrage = 0
        var messages = 0
    }
    private var shown = Unkept()
    /// For lanes that are shown nothing: the sum when that began. Also when their viewers have left meanwhile, since those may
    /// be announced again.
    private var missedSince: [Lane: Unkept] = [:]
    /// The messages that some sessions of these lanes alone would have been shown, and that are in no history: a lane takes
    /// none before it has joined.
    private var missedAlone: [Lane: [SessionID: Int]] = [:]
    /// The last sum that each lane was told to have missed: since when, and for whom alone. It may not have taken it.
    private var lastTold: [Lane: (number: UInt64, since: Unkept, alone: [SessionID: Int])] = [:]
    /// Sessions in `missedAlone` and `lastTold`; nothing is counted for further ones.
    private var missedAloneCount = 0
    static let missedAloneMax = 10_000

    package init() {}

    package var isEmpty: Bool { items.isEmpty && writer.isEmpty }

    /// The encodings that viewers of later items understand. To be told before a newcomer's enter is, and when nobody
    /// who has left will see any more.
    package var encodings = ClientEncodings() {
        didSet {
            guard encodings != oldValue else { return }
            endFrame()
            writer = SharedFrameWriter(encodings)
        }
    }

    /// A writer of frames that are not part of the turn's frame.
    package var blankWriter: SharedFrameWriter { SharedFrameWriter(encodings) }

    /// A message for all viewers: joins the turn's frame. The kept ones of a frame are without holes: lanes see by that
    /// what was left out.
    package mutating func show(_ message: Message) {
        if let seq = message.seq, let last = keptSeqs?.upperBound, seq != last + 1 { endFrame() }
        if !writer.appendIfFits(message) {
            endFrame()
            writer.append(message)
        }
        if let seq = message.seq {
            keptSeqs = (keptSeqs?.lowerBound ?? seq)...seq
        } else {
            unkept += 1
        }
    }

    /// A message for some sessions, behind what was shown so far.
    package mutating func show(_ message: Message, to sessions: [(lane: Lane, sessions: [SessionID])]) {
        guard !sessions.isEmpty else { return }
        endFrame()
        var writer = blankWriter
        writer.append(message)
        let frame = writer.frame(
            .messages, keptSeqs: message.seq.map { $0...$0 }, unkept: message.seq == nil ? 1 : 0)
        // One that the viewer budget shows to some only is counted for everybody when it is named as left out.
        let isDirected = !message.to.isEmpty
        for (lane, sessions) in sessions { show(frame, to: sessions, on: lane, isCounted: isDirected) }
    }

    private mutating func show(_ frame: SharedFrame, to sessions: [SessionID], on lane: Lane, isCounted: Bool = true) {
        if isCounted, frame.unkept > 0, missedSince[lane] != nil {
            for session in sessions where missedAlone[lane]?[session] != nil || missedAloneCount < Self.missedAloneMax {
                if missedAlone[lane]?[session] == nil { missedAloneCount += 1 }
                missedAlone[lane, default: [:]][session, default: 0] += frame.unkept
            }
        }
        items.append(.one(lane, .frameFor(sessions, frame)))
    }

    /// A push for some sessions, behind what was shown so far: they are told by `skipped` where they miss it.
    package mutating func notify(_ push: Push, to sessions: [(lane: Lane, sessions: [SessionID])]) {
        guard !sessions.isEmpty else { return }
        endFrame()
        var writer = blankWriter
        writer.append(push)
        let frame = writer.frame(.messages, unkept: 1)
        for (lane, sessions) in sessions { show(frame, to: sessions, on: lane) }
    }

    /// Something for one session; what was shown before it in this turn may come after it, so an ack precedes the
    /// sender's own push.
    package mutating func notify(_ lane: Lane, _ output: RoomOutput) { items.append(.one(lane, output)) }

    /// Something for everybody, behind what was shown so far.
    package mutating func publishToEverybody(_ output: RoomOutput) {
        endFrame()
        count(output)
        items.append(.everybody(output))
    }

    private mutating func count(_ output: RoomOutput) {
        switch output {
        case .frame(let frame), .frameExcept(_, let frame):
            shown.barrage += frame.barrage
            shown.messages += frame.unkept
        case .barrage(let sample, let skipped): shown.barrage += (sample?.barrage ?? 0) + skipped
        default: break
        }
    }

    /// From here on order matters to a session (it enters): what was shown so far becomes a frame of its own.
    package mutating func endFrame() {
        guard !writer.isEmpty else { return }
        shown.messages += unkept
        var full = blankWriter
        swap(&full, &writer)
        items.append(.everybody(.frame(full.frame(.messages, keptSeqs: keptSeqs, unkept: unkept))))
        keptSeqs = nil
        unkept = 0
    }

    /// A lane's viewers are shown nothing until the lane has joined.
    /// - Parameter hasMissedAll: whether the lane's viewers, who were here all the time, were shown nothing by this leader yet.
    package mutating func wait(_ lane: Lane, hasMissedAll: Bool) {
        waiting.insert(lane)
        if missedSince[lane] == nil { missedSince[lane] = hasMissedAll ? Unkept() : shown }
    }

    /// A node can't be reached. Its lanes, which have announced sessions and may never say what those were shown, hear
    /// nothing until they announce them anew.
    /// - Parameter lanes: those of the node that have viewers.
    package mutating func lose(_ node: NodeID, lanes: some Sequence<Lane>) {
        waiting = waiting.filter { $0.node != node }
        for lane in lanes where missedSince[lane] == nil { missedSince[lane] = shown }
    }

    /// The lane has viewers of whom this leader knows from the former one, the last one that has shown them anything. Until
    /// it announces them, nothing may reach it.
    package mutating func inherit(_ lane: Lane) {
        if missedSince[lane] == nil { missedSince[lane] = Unkept() }
    }

    /// Somebody enters through the lane, so it hears this leader, and has announced all viewers that it has.
    package mutating func enter(_ lane: Lane) {
        guard !missedSince.isEmpty, !waiting.contains(lane) else { return }
        missedSince[lane] = nil
        missedAloneCount -= missedAlone.removeValue(forKey: lane)?.count ?? 0
    }

    /// Whether the lane waits until it joins.
    package func isWaiting(_ lane: Lane) -> Bool { waiting.contains(lane) }

    /// The lane's viewers are shown what everybody is shown from here on.
    package mutating func join(_ lane: Lane) {
        endFrame()
        waiting.remove(lane)
        joined[lane] = items.count
    }

    /// The lane, which has announced its sessions in the room, has been shown everything up to `place`: it gets what it
    /// has not, as far as the tail has it, a `gap` for what is older, a number for what is in no history, and from here on
    /// what everybody is shown.
    ///
    /// - Parameters:
    ///   - number: what the lane called this.
    ///   - epoch: of the room; a lane that names another one has been shown nothing of this room.
    ///   - lastSeq: the room's.
    package mutating func follow(
        _ place: StreamPlace, _ lane: Lane, number: UInt64, room: RoomID, epoch: String, tail: HotTail, lastSeq: UInt64
    ) {
        join(lane)
        notify(lane, .following(number, through: lastSeq))
        sendMissed(lane, in: room, number: number, untaken: place.untaken)
        guard place.epoch == epoch, place.seq < lastSeq else { return }
        let held = max(place.seq, (tail.firstSeq ?? lastSeq + 1) - 1)
        if held > place.seq { notify(lane, .gap(place.seq + 1...held)) }
        let missed = tail.messages(after: held, lastSeq: lastSeq, limit: HotTail.messagesMax) ?? []
        var writer = blankWriter
        var first = held + 1
        for message in missed {
            guard let seq = message.seq else { continue }
            if !writer.appendIfFits(message) {
                notify(lane, .frame(writer.frame(.messages, keptSeqs: first...seq - 1)))
                writer = blankWriter
                writer.append(message)
                first = seq
            }
            if seq == lastSeq { notify(lane, .frame(writer.frame(.messages, keptSeqs: first...seq))) }
        }
    }

    /// Nothing of it is brought: its viewers are told how much they were spared (PROTOCOL.md, "Unkept").
    private mutating func sendMissed(_ lane: Lane, in room: RoomID, number: UInt64, untaken: UInt64) {
        var alone = missedAlone.removeValue(forKey: lane) ?? [:]
        // Without losses so far, it is what comes from here on that may get lost.
        var since = missedSince.removeValue(forKey: lane) ?? shown
        if let former = lastTold.removeValue(forKey: lane) {
            missedAloneCount -= former.alone.count + alone.count
            if untaken > 0, former.number >= untaken {
                since = former.since
                alone.merge(former.alone) { $0 + $1 }
            }
            missedAloneCount += alone.count
        }
        lastTold[lane] = (number, since, alone)
        let byCount = Dictionary(grouping: alone.keys) { alone[$0] ?? 0 }
        for (count, sessions) in byCount.sorted(by: { $0.key < $1.key }) {
            notify(lane, .frameFor(sessions.sorted { $0.text < $1.text }, skipped(barrage: 0, unkept: count, in: room)))
        }
        let (barrage, messages) = (shown.barrage - since.barrage, shown.messages - since.messages)
        guard barrage + messages > 0 else { return }
        notify(lane, .frame(skipped(barrage: barrage, unkept: messages, in: room)))
    }

    private func skipped(barrage: Int, unkept: Int, in room: RoomID) -> SharedFrame {
        var push = SkippedPush(room: room)
        (push.barrage, push.unkept) = (Int64(barrage), Int64(unkept))
        var writer = blankWriter
        writer.append(.skipped(push))
        return writer.frame(.barrage(.high), barrage: barrage + unkept, told: barrage + unkept)
    }

    /// Ends the turn: one publication for each node that has viewers or is told something.
    ///
    /// - Parameter viewerLanes: sorted.
    package mutating func take(room: RoomID, term: UInt64, viewerLanes: [Lane])
        -> [(node: NodeID, publication: NodePublication)]
    {
        endFrame()
        guard !items.isEmpty else {
            joined.removeAll()
            return []
        }
        var nodes: [(node: NodeID, publication: NodePublication)] = []
        func index(of node: NodeID) -> Int {
            if let index = nodes.firstIndex(where: { $0.node == node }) { return index }
            nodes.append((node, NodePublication(room: room, term: term, lanes: [], outputs: [])))
            return nodes.count - 1
        }
        for lane in viewerLanes { nodes[index(of: lane.node)].publication.lanes.append(lane.number) }
        // A lane whose last viewer was put out in this turn is told so, and shall see before what put it out.
        for case .one(let lane, _) in items {
            let index = index(of: lane.node)
            if !nodes[index].publication.lanes.contains(lane.number) {
                nodes[index].publication.lanes.append(lane.number)
            }
        }
        let allSee = joined.isEmpty && waiting.isEmpty
        for (number, item) in items.enumerated() {
            switch item {
            case .everybody(let output):
                for index in nodes.indices {
                    let (node, lanes) = (nodes[index].node, nodes[index].publication.lanes)
                    let seeing = allSee ? lanes : lanes.filter { sees(Lane(node: node, number: $0), number) }
                    if seeing.count == lanes.count {
                        nodes[index].publication.outputs.append(.all(output))
                    } else {
                        for lane in seeing { nodes[index].publication.outputs.append(.lane(lane, output)) }
                    }
                }
            case .one(let lane, let output):
                nodes[index(of: lane.node)].publication.outputs.append(.lane(lane.number, output))
            }
        }
        items.removeAll(keepingCapacity: true)
        joined.removeAll()
        return nodes.filter { !$0.publication.outputs.isEmpty }
    }

    private func sees(_ lane: Lane, _ item: Int) -> Bool {
        !waiting.contains(lane) && item >= joined[lane] ?? 0
    }
}
