import Testing

@testable import GroupDriver

/// Saves on their way to a disk that takes them, hangs or refuses.
@Suite struct GroupSavesTests {
    private var saves = GroupSaves()

    private mutating func tick(_ count: Int, isBehind: Bool = false) {
        for _ in 0..<count { saves.tick(isBehind: isBehind) }
    }

    @Test mutating func `a save that arrives is one of this core`() {
        saves.begin()
        #expect(saves.inFlight == 1)
        let isMine = saves.onSaved(generation: 0)
        #expect(isMine)
        #expect(saves.inFlight == 0)
        #expect(!saves.hasFailed)
    }

    @Test mutating func `a disk hangs when others have saved for three seconds what it has not`() {
        saves.begin()
        tick(29, isBehind: true)
        #expect(!saves.isOverdue)
        tick(1, isBehind: true)
        #expect(saves.isOverdue)
        _ = saves.onSaved(generation: 0)
        #expect(!saves.isOverdue)
    }

    @Test mutating func `a disk does not hang while all disks are slow, or while nothing is to be saved`() {
        saves.begin()
        tick(29, isBehind: true)
        tick(1, isBehind: false)
        tick(29, isBehind: true)
        #expect(!saves.isOverdue)
        _ = saves.onSaved(generation: 0)
        tick(100, isBehind: true)
        #expect(!saves.isOverdue)
    }

    @Test mutating func `a core stops at its first failure, and is made anew a second later`() {
        saves.begin()
        saves.begin()
        let stops = saves.onFailed(generation: 0)
        #expect(stops)
        let stopsTwice = saves.onFailed(generation: 0)
        #expect(!stopsTwice)
        #expect(saves.hasFailed)
        tick(9)
        #expect(!saves.isRestartDue)
        tick(1)
        #expect(saves.isRestartDue)
        saves.onRestartBegun()
        tick(50)
        #expect(saves.hasFailed && !saves.isRestartDue, "the disk is being read once")
        saves.onRestarted()
        #expect(!saves.hasFailed)
        #expect(!saves.isRestartDue)
        #expect(saves.generation == 1)
    }

    @Test mutating func `no core is made anew while a save is on its way`() {
        saves.begin()
        saves.begin()
        _ = saves.onFailed(generation: 0)
        tick(50)
        #expect(!saves.isRestartDue)
        // The one behind it has arrived after all; the core has stopped all the same.
        let isMine = saves.onSaved(generation: 0)
        #expect(isMine)
        #expect(saves.hasFailed)
        #expect(saves.isRestartDue)
    }

    @Test mutating func `a core that can't be made anew is tried again a second later`() {
        saves.begin()
        _ = saves.onFailed(generation: 0)
        tick(10)
        saves.onRestartFailed()
        #expect(saves.hasFailed)
        tick(9)
        #expect(!saves.isRestartDue)
        tick(1)
        #expect(saves.isRestartDue)
    }

    @Test mutating func `answers to a former core's saves mean nothing to this one`() {
        saves.begin()
        _ = saves.onFailed(generation: 0)
        saves.onRestarted()
        saves.begin()
        saves.begin()
        let isMine = saves.onSaved(generation: 0)
        #expect(!isMine)
        let stops = saves.onFailed(generation: 0)
        #expect(!stops)
        #expect(!saves.hasFailed)
        #expect(saves.inFlight == 0)
    }
}

/// The output that the driver finds at a group, and may take.
@Suite struct GroupOutputTests {
    @Test func `proposals wait for a save, anything else does not`() {
        var output = GroupLog.Output.none
        #expect(!output.isDue(maySave: true))
        output.note()
        #expect(output.isDue(maySave: false))
        output = .proposals
        #expect(!output.isDue(maySave: false))
        #expect(output.isDue(maySave: true))
        // Later events wait with them.
        output.note()
        #expect(!output.isDue(maySave: false))
    }
}
