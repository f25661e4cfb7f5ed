import ChatModel
import EventLoop
import SessionCore
import Telemetry
import Transport

/// The end of a turn: what it left is written, connection by connection and room by room, so that no turn takes long.
extension GatewayLane {
    /// The longest that a turn gives to connections, and then again to rooms; the rest goes on in the next turn.
    private static let sliceNanoseconds = EventLoop.shareNanoseconds
    /// How many viewers are written to between two looks at the clock.
    private static let viewersAtATime = 128
    private static let connectionsAtATime = 16

    func flush() {
        defer {
            keepWithinBudget()
            countOutput()
        }
        flushDirty()
        guard !active.isEmpty else { return }
        fanOut()
        // Viewers that could not be written to in the round.
        flushDirty()
    }

    /// Adds what this turn has given to figures that all loops share.
    private func countOutput() {
        if deliveredMessages + deliveredBarrage > 0 {
            shared.figures.deliveredMessages.add(deliveredMessages)
            shared.figures.deliveredBarrage.add(deliveredBarrage)
            (deliveredMessages, deliveredBarrage) = (0, 0)
        }
        guard sentBytes > 0 else { return }
        shared.figures.sentBytes.add(sentBytes)
        sentBytes = 0
    }

    /// Writes what waits for single connections, together with what their rooms have for them.
    private func flushDirty() {
        guard !dirty.isEmpty else { return }
        let begin = dirty.count > Self.connectionsAtATime ? EventLoop.nowNanoseconds : 0
        // Flushing can make others dirty (losses told): they are appended behind and written too.
        var index = 0
        while index < dirty.count {
            let connection = dirty[index]
            settle(connection)
            connection.flush()
            index += 1
            guard index % Self.connectionsAtATime == 0, index < dirty.count else { continue }
            if begin != 0, EventLoop.nowNanoseconds - begin >= Self.sliceNanoseconds { break }
        }
        if index == dirty.count { return dirty.removeAll(keepingCapacity: true) }
        dirty.removeFirst(index)
        loop.executeLater {}
    }

    /// The audience has frames to give.
    func activate(_ audience: Audience) {
        guard !audience.isActive else { return }
        audience.isActive = true
        active.append(audience)
    }

    /// Gives a viewer what its rooms have still to give it, in their order, before something that is for it alone.
    func settle(_ connection: ClientConnection) {
        guard !active.isEmpty else { return }
        for room in connection.views.keys { hubs[room]?.settle(connection) }
    }

    /// Writes to viewers, of one audience after the other, until all have everything or the slice is over.
    private func fanOut() {
        let begin = EventLoop.nowNanoseconds
        let used = EventLoop.threadCPUNanoseconds
        var now = begin
        var due = active
        active = []
        var index = 0
        while index < due.count, now - begin < Self.sliceNanoseconds {
            let audience = due[index]
            index += 1
            if !audience.window.isOpen(atNanoseconds: now) {
                active.append(audience)
            } else if resume(with: audience, atMost: Self.viewersAtATime) {
                due.append(audience)
            } else {
                audience.isActive = false
            }
            now = EventLoop.nowNanoseconds
        }
        if index < due.count {
            active += due[index...]
            loop.executeLater {}
        } else {
            wakeForWindows(now)
        }
        shared.figures.fanOutNanoseconds.add(Int(EventLoop.threadCPUNanoseconds - used))
    }

    /// Goes on with a round. Returns whether there is more to give.
    func resume(with audience: Audience, atMost limit: Int) -> Bool {
        let begin = EventLoop.nowNanoseconds
        let given = audience.walk(atMost: limit)
        let end = EventLoop.nowNanoseconds
        audience.window.spent(nanoseconds: end - begin)
        guard let given else { return true }
        audience.window.ended(messages: given.reduce(0) { $0 + $1.messageCount }, atNanoseconds: end)
        let now = shared.now()
        for case let time? in given.lazy.map(\.oldestTime) {
            shared.figures.deliver.record(seconds: Double(max(0, now.milliseconds - time.milliseconds)) / 1000)
        }
        return !audience.isIdle
    }

    /// Makes a turn when the first of the windows opens.
    private func wakeForWindows(_ now: UInt64) {
        guard let first = active.lazy.map(\.window.beginNanoseconds).min() else { return }
        if let windowTimer, windowTimer.isScheduled { windowTimer.cancel() }
        let milliseconds = (first - min(first, now) + 999_999) / 1_000_000
        windowTimer = loop.schedule(afterMilliseconds: max(1, milliseconds)) {}
    }

    /// Joins several small frames into one write.
    func gather(from queue: inout SendQueue<LaneFrame>) -> [UInt8] {
        var bytes: [UInt8] = []
        while let next = queue.first, bytes.isEmpty || bytes.count + next.byteCount <= FramePieces.bytesMax {
            next.bytes.withUnsafeBytes { bytes.append(contentsOf: $0) }
            _ = queue.popFirst()
        }
        return bytes
    }
}
