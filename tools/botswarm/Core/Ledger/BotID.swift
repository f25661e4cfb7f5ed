/// Which bot of the swarm, counted from 0.
package struct BotID: Hashable, Sendable, Comparable {
    package let number: Int

    package init(_ number: Int) { self.number = number }

    package static func < (a: BotID, b: BotID) -> Bool { a.number < b.number }
}
