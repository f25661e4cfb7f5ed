/// The counts of one loop's bots so far.
package struct LaneCounters: Sendable, Hashable, Codable {
    var connected: UInt64 = 0
    var here = 0
    var stopped = 0
    var connects: UInt64 = 0
    var resumed: UInt64 = 0
    var reconnects: UInt64 = 0
    /// Connections that another one followed before they ended.
    var moved: UInt64 = 0
    /// Sessions whose connection the other side ended without a `reconnect` push before.
    var unannounced: UInt64 = 0
    var sent: UInt64 = 0
    var acked: UInt64 = 0
    /// Kept, unkept and barrage by push.
    var delivered: UInt64 = 0
    var retries: UInt64 = 0
    var forgone: UInt64 = 0
    var refused: UInt64 = 0
    /// The barrage among `delivered`.
    var barrageDelivered: UInt64 = 0
    /// Answers with an error.
    var errorCount: UInt64 = 0
    /// Bots that came in, again or for the first time.
    var entered: UInt64 = 0
    /// `reconnect` pushes.
    var sentAway: UInt64 = 0
    /// Changes of the queue, acts of managers, kicks and bots that left, each with an answer.
    var seatChanges: UInt64 = 0
    var moderations: UInt64 = 0
    var kicked: UInt64 = 0
    var left: UInt64 = 0
    /// Bytes read and written.
    var bytesIn: UInt64 = 0
    var bytesOut: UInt64 = 0
    /// Requests without an answer yet, reads included.
    var outstanding = 0
    /// Error codes that requests were answered with.
    var errors: [Int: UInt64] = [:]
    /// Close codes; 0 is a connection that ended without one.
    var closes: [Int: UInt64] = [:]

    mutating func add(_ other: LaneCounters) {
        connected += other.connected
        here += other.here
        stopped += other.stopped
        connects += other.connects
        resumed += other.resumed
        reconnects += other.reconnects
        moved += other.moved
        unannounced += other.unannounced
        sent += other.sent
        acked += other.acked
        delivered += other.delivered
        retries += other.retries
        forgone += other.forgone
        refused += other.refused
        barrageDelivered += other.barrageDelivered
        errorCount += other.errorCount
        entered += other.entered
        sentAway += other.sentAway
        seatChanges += other.seatChanges
        moderations += other.moderations
        kicked += other.kicked
        left += other.left
        bytesIn += other.bytesIn
        bytesOut += other.bytesOut
        outstanding += other.outstanding
        errors.merge(other.errors, uniquingKeysWith: +)
        closes.merge(other.closes, uniquingKeysWith: +)
    }
}
