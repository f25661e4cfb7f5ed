import EventLoop
import Synchronization
import Telemetry

/// The buffers of all connections together stay within a budget of the node (``ConnectionLimits/bufferBytesMax``).
///
/// Each lane has an equal part of it. When the node is over its budget, the lanes that are over their part bring
/// themselves to nine tenths of it. If most of that is frames of rooms, slow viewers lose what waits for them, and are
/// told so by `gap` and `skipped` as always. Else the greediest connections are closed, with 4429 where that can be said
/// at once, and come again later: their sessions have the grace for that.
extension GatewayLane {
    /// The connections that are giving way.
    struct Relief {
        /// The greediest last. Numbers, since connections may go meanwhile.
        fileprivate var victims: [UInt64] = []
        /// They lose frames of rooms, and are not closed.
        fileprivate var isShedding = false
        /// When they last lost frames, in loop time; nil: never.
        fileprivate var shedAt: UInt64?
        /// Not before, in loop time: to look at all connections has its price.
        fileprivate var nextLookMilliseconds: UInt64 = 0

        init() {}
    }

    private static let lookMilliseconds: UInt64 = 50
    /// How long frames that were let go may still count, because a socket has them.
    private static let shedMilliseconds: UInt64 = 1_000
    private static let victimsAtATime = 16

    /// Runs at the end of each turn, and once a second.
    func keepWithinBudget() {
        buffers.report(to: shared.buffers)
        if relief.victims.isEmpty {
            guard shared.buffers.bytes > configuration.connections.bufferBytesMax else { return }
            lookForGreediest()
        }
        giveWay()
    }

    private func lookForGreediest() {
        let now = loop.nowMilliseconds
        guard now >= relief.nextLookMilliseconds else { return }
        relief.nextLookMilliseconds = now + Self.lookMilliseconds
        let lanes = shared.lanes.withLock { $0 }
        let part = configuration.connections.bufferBytesMax / max(1, lanes.count)
        guard buffers.bytes > part else {
            // Another lane has more than its part, and may have had no turn since the sum is too high.
            for lane in lanes where lane.loop !== loop { lane.loop.execute { lane.value.keepWithinBudget() } }
            return
        }
        // Where that was not enough a moment ago, what is left of it is in the hands of sockets.
        let hasJustShed = relief.shedAt.map { now < $0 + Self.shedMilliseconds } ?? false
        relief.isShedding = buffers.sharedBytes > buffers.ownBytes && !hasJustShed
        if relief.isShedding { relief.shedAt = now }
        // How many share a frame is not known: all who wait for some give way.
        let excess = relief.isShedding ? Int.max : buffers.bytes - part / 10 * 9
        let isShedding = relief.isShedding
        let holders = connections.lazy.map { number, connection in
            (number: number, bytes: isShedding ? connection.waitingSharedBytes : connection.freeableBytes)
        }
        relief.victims = Greediest.pick(holders, freeing: excess).reversed()
    }

    /// A share of the turn's time; the rest goes on in the next turn.
    private func giveWay() {
        guard !relief.victims.isEmpty else { return }
        let end = EventLoop.nowNanoseconds + EventLoop.shareNanoseconds
        repeat {
            for _ in 0..<Self.victimsAtATime {
                guard let number = relief.victims.popLast() else { return buffers.report(to: shared.buffers) }
                guard let connection = connections[number] else { continue }
                if relief.isShedding {
                    connection.shedAll()
                } else {
                    shared.figures.closedForMemory.add()
                    connection.giveWay()
                }
            }
        } while EventLoop.nowNanoseconds < end
        buffers.report(to: shared.buffers)
        loop.executeLater {}
    }
}
