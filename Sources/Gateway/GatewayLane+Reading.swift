import EventLoop
import RoomProtocol
import SessionCore

/// The lane reads in shares: a turn's calls go out together, and who brings too much waits behind the others.
extension GatewayLane {
    func call(_ call: RoomRequest) { calls.append(call) }

    func routeCalls() {
        turn &+= 1
        if !throttled.isEmpty { readThrottled() }
        guard !calls.isEmpty else { return }
        let batch = calls
        calls = []
        ask(batch)
    }

    /// Those that wait go on, a share per turn; who brings too much again waits behind them.
    private func readThrottled() {
        let end = EventLoop.nowNanoseconds + EventLoop.shareNanoseconds
        let due = throttled
        throttled.removeAll(keepingCapacity: true)
        var index = 0
        repeat {
            due[index].isThrottled = false
            due[index].continueReading()
            index += 1
        } while index < due.count && EventLoop.nowNanoseconds < end
        throttled.insert(contentsOf: due[index...], at: 0)
        // Bytes that wait here are no reason for a turn by themselves.
        if !throttled.isEmpty { loop.executeLater {} }
    }

    /// At the end of a turn reading is for the next.
    func continueReadingLater(_ connection: ClientConnection) {
        throttle(connection)
        loop.executeLater {}
    }

    /// A full bucket for a connection that has brought nothing compressed yet.
    var inflationBucket: TokenBucket {
        TokenBucket(
            ratePerSecond: configuration.inflatedBytesPerSecond, burst: configuration.inflatedBytesBurst,
            nowMilliseconds: loop.nowMilliseconds)
    }

    func readLater(overdrawn connection: ClientConnection) { overdrawn.append(connection) }

    /// Ten times a second: those that have paid go on, as others do that had to wait.
    func readOverdrawn() {
        guard !overdrawn.isEmpty else { return }
        overdrawn.removeAll { connection in
            guard connection.phase.isEnding || !connection.owesInflation() else { return false }
            connection.isOverdrawn = false
            if !connection.phase.isEnding { continueReadingLater(connection) }
            return true
        }
    }

    func throttle(_ connection: ClientConnection) {
        connection.pauseReading()
        guard !connection.isThrottled else { return }
        connection.isThrottled = true
        throttled.append(connection)
    }
}
