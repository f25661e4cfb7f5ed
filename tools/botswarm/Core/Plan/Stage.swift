/// A part of a run: how much of everything happens in it, and for how long.
///
/// Rates "in all" are those of the whole run; each loop and each worker takes its share.
package struct Stage: Sendable, Hashable, Codable {
    /// One word, for the screen and the report.
    package var name: String
    package var seconds: Double
    /// Ends as soon as everybody is in the room; `seconds` is then the most that it lasts.
    package var endsWhenAllAreBack = false
    /// The messages of each sender in a second; nil is none, 0 is as fast as the answers come.
    package var messageRate: Double?
    package var barrageRate: Double?
    /// The number of messages among 100 that are sent with `history: false`.
    package var unkeptPercent = 0
    /// Connections that the swarm cuts off at the beginning, in percent of those that are in the room.
    package var cutPercent = 0.0
    /// Connections that it cuts off in a second, in all.
    package var cutsPerSecond = 0.0
    /// Bots that stop reading for `stallSeconds`, each second, in all.
    package var stallsPerSecond = 0.0
    package var stallSeconds = 5.0
    /// Whether the slow ones of the viewers are slow.
    package var isSlow = false
    /// Changes of the queue in a second, in all.
    package var seatRate = 0.0
    /// Acts of managers in a second, in all.
    package var moderationRate = 0.0
    /// Bots that leave and come back later, each second, in all.
    package var leaverRate = 0.0

    package init(_ name: String, seconds: Double) {
        self.name = name
        self.seconds = seconds
    }

    var rates: [Double] {
        [messageRate ?? 0, barrageRate ?? 0, cutsPerSecond, stallsPerSecond, seatRate, moderationRate, leaverRate]
    }
}
