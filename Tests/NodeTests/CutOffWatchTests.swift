import Testing

@testable import Node

/// A node that does not hear its cluster takes nobody new and then sends its clients away; one that stood still does not.
@Suite struct CutOffWatchTests {
    private var watch = CutOffWatch()

    @Test mutating func `silence counts while the process runs`() {
        for _ in 0..<9 { #expect(watch.look(isHeard: false, after: .milliseconds(500)) == false) }
        #expect(!watch.isCutOff)
        #expect(watch.look(isHeard: false, after: .milliseconds(500)) == false)
        #expect(watch.isCutOff)
        var sent = 0
        for _ in 0..<1_000 where watch.look(isHeard: false, after: .milliseconds(100)) { sent += 1 }
        #expect(sent == 1, "once")
        _ = watch.look(isHeard: true, after: .milliseconds(100))
        #expect(!watch.isCutOff)
        for _ in 0..<1_000 where watch.look(isHeard: false, after: .milliseconds(100)) { sent += 1 }
        #expect(sent == 2, "and again when it was heard in between")
    }

    @Test(arguments: [5, 30, 3_600])
    mutating func `a pause of the process itself turns nobody away`(seconds: Int) {
        _ = watch.look(isHeard: true, after: .milliseconds(500))
        // Just behind it nobody has been heard yet.
        #expect(watch.look(isHeard: false, after: .seconds(seconds)) == false)
        #expect(!watch.isCutOff)
        for _ in 0..<20 { _ = watch.look(isHeard: false, after: .milliseconds(100)) }
        #expect(!watch.isCutOff, "there is time to hear it")
    }
}
