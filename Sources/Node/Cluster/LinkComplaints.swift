import ChatModel
import NodeLinkCore

/// Which refused connections are worth a line in the log: who is refused calls again every few seconds, and strangers may
/// call as often as they like.
struct LinkComplaints {
    private struct Kind: Hashable {
        var node: NodeID?
        var code: LinkError.Code
    }

    /// One line for each node and code in so long.
    static let interval = Duration.seconds(60)
    /// Kinds that are remembered; beyond, nothing more is worth a line until the oldest are forgotten.
    static let kindsMax = 256

    private var saidAt: [Kind: ContinuousClock.Instant] = [:]

    /// Whether to say it at `now`.
    /// - Parameter node: nil for whoever has not said who it is.
    mutating func admit(_ node: NodeID?, _ code: LinkError.Code, at now: ContinuousClock.Instant) -> Bool {
        let kind = Kind(node: node, code: code)
        if let last = saidAt[kind], now - last < Self.interval { return false }
        if saidAt.count >= Self.kindsMax {
            saidAt = saidAt.filter { now - $0.value < Self.interval }
            guard saidAt.count < Self.kindsMax else { return false }
        }
        saidAt[kind] = now
        return true
    }
}
