/// The highest incarnation wins, and only its owner answers with a higher one: one piece of news with an incarnation near
/// the end of the numbers would leave a node no answer, for good and over its restarts. Incarnations begin as the wall
/// clock's milliseconds and rise by one with each refutation, so they are never far ahead of the clock.
extension GossipMembership {
    /// The most that the owner may be ahead of its accusers, in milliseconds: clocks differ by a minute at most.
    static let refutationSlack: UInt64 = 120_000

    /// From now on nothing is believed in a higher incarnation than `bound`, but for a refutation in one a little higher;
    /// so who is accused in the highest can answer.
    ///
    /// - Parameter now: what a start of this node would begin with now. Where its own incarnation is above the bound,
    ///   because its clock was wrong when it began, it goes on from there: nobody believes the one that it has.
    public mutating func believe(incarnationsUpTo bound: UInt64, now: UInt64) {
        incarnationMax = min(bound, GossipCodec.incarnationMax)
        guard incarnation > incarnationMax, now <= incarnationMax, phase == .running else { return }
        incarnation = now
        queue.add(.alive(incarnation: incarnation, own))
    }

    /// Whether an accusation in that incarnation is believed.
    mutating func admits(_ heard: UInt64) -> Bool {
        guard heard > incarnationMax else { return true }
        refusedIncarnations &+= 1
        return false
    }

    /// Whether what a member says of itself in that incarnation is believed.
    mutating func admits(alive heard: UInt64) -> Bool {
        guard heard > incarnationMax + Self.refutationSlack else { return true }
        refusedIncarnations &+= 1
        return false
    }
}
