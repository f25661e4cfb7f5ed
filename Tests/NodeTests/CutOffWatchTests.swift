import Testing

@testable import Node

/// A node that does not hear its cluster takes nobody new, asks its clients to move, and then sends them away; one that stood
/// still does not.
@Suite struct CutOffWatchTests {
    private var watch = CutOffWatch()

    /// Looks each half second while nobody is heard. Returns the actions by the number of the look.
    private mutating func actions(looks: Int, mayServeElsewhere: Bool = true) -> [Int: CutOffWatch.Action] {
        var actions: [Int: CutOffWatch.Action] = [:]
        for look in 1...looks {
            actions[look] = watch.look(
                isHeard: false, mayServeElsewhere: mayServeElsewhere, after: .milliseconds(500))
        }
        return actions
    }

    @Test mutating func `silence counts while the process runs`() {
        #expect(actions(looks: 9) == [:])
        #expect(!watch.isCutOff)
        #expect(actions(looks: 1) == [1: .askToMove])
        #expect(watch.isCutOff)
        #expect(actions(looks: 1_000) == [50: .sendAway], "once")
        _ = watch.look(isHeard: true, mayServeElsewhere: true, after: .milliseconds(100))
        #expect(!watch.isCutOff)
        #expect(actions(looks: 1_000) == [10: .askToMove, 60: .sendAway], "and again when it was heard in between")
    }

    @Test mutating func `nobody is asked to move while the others are reached and have no leader either`() {
        #expect(actions(looks: 20, mayServeElsewhere: false) == [:])
        #expect(watch.isCutOff, "tokens may have been revoked all the same")
        #expect(actions(looks: 1) == [1: .askToMove], "when they are not reached any more")
    }

    @Test mutating func `whoever is sent away is not asked to move later`() {
        #expect(actions(looks: 60, mayServeElsewhere: false) == [60: .sendAway])
        #expect(actions(looks: 60) == [:])
    }

    @Test(arguments: [5, 30, 3_600])
    mutating func `a pause of the process itself turns nobody away`(seconds: Int) {
        _ = watch.look(isHeard: true, mayServeElsewhere: true, after: .milliseconds(500))
        // Just behind it nobody has been heard yet.
        #expect(watch.look(isHeard: false, mayServeElsewhere: true, after: .seconds(seconds)) == nil)
        #expect(!watch.isCutOff)
        for _ in 0..<20 { _ = watch.look(isHeard: false, mayServeElsewhere: true, after: .milliseconds(100)) }
        #expect(!watch.isCutOff, "there is time to hear it")
    }
}
