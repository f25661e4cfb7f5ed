import RoomProtocol
import Testing

/// Of messages that the viewer budget left out a lane knows until its viewers have been told, whoever leads the room.
@Suite struct `Shown streams` {
    var shown = ShownStream()

    init() { shown.enter(at: StreamPlace(epoch: "1", seq: 10)) }

    @Test mutating func `a stream without holes has nothing to notify`() {
        shown.show(11...14)
        shown.show(15...15)
        shown.enter(at: StreamPlace(epoch: "1", seq: 15))
        let untold = shown.takeUntold()
        #expect(untold.isEmpty && shown.place == StreamPlace(epoch: "1", seq: 15))
    }

    @Test mutating func `what lies between two frames was left out`() {
        shown.show(13...13)
        shown.show(14...14)
        shown.show(17...18)
        let untold = shown.takeUntold()
        #expect(untold == [11...12, 15...16])
        #expect(shown.takeUntold().isEmpty, "it is told once")
    }

    @Test mutating func `what only some were shown is not shown again, and the others are told`() {
        shown.showSome(12...12)
        #expect(shown.place.seq == 12)
        let untold = shown.takeUntold()
        #expect(untold == [11...12])
    }

    @Test mutating func `whoever enters goes on behind what the others were not shown`() {
        shown.enter(at: StreamPlace(epoch: "1", seq: 13))
        #expect(shown.place.seq == 13)
        let untold = shown.takeUntold()
        #expect(untold == [11...13])
    }

    @Test mutating func `an enter from before does not take the others back`() {
        shown.show(13...13)
        shown.enter(at: StreamPlace(epoch: "1", seq: 11))
        #expect(shown.place.seq == 13)
    }

    @Test mutating func `what the room has told is not told again`() {
        shown.show(13...13)
        shown.showSome(14...14)
        shown.show(11...12)
        #expect(shown.untold == [14...14])
        shown.show(14...16)
        #expect(shown.untold.isEmpty && shown.place.seq == 16, "it may reach beyond what was shown last")
        shown.showSome(14...16)
        #expect(shown.untold.isEmpty, "somebody who came back is told once more")
    }

    @Test mutating func `another life of the room has other messages`() {
        shown.show(13...13)
        shown.enter(at: StreamPlace(epoch: "2", seq: 3))
        let untold = shown.takeUntold()
        #expect(untold.isEmpty && shown.place == StreamPlace(epoch: "2", seq: 3))
    }

    @Test mutating func `what was skipped for everybody was told`() {
        shown.skip(through: 20)
        shown.show(21...21)
        #expect(shown.untold.isEmpty)
    }

    @Test mutating func `beyond the bound the last range is widened`() {
        for number: UInt64 in 1...200 { shown.show(10 + 2 * number...10 + 2 * number) }
        #expect(shown.untold.count == 64 && shown.untold.last?.upperBound == 409)
    }

    @Test mutating func `before anybody has entered nothing is left out`() {
        var fresh = ShownStream()
        fresh.show(4...9)
        fresh.showSome(12...12)
        let untold = fresh.takeUntold()
        #expect(untold.isEmpty)
    }
}
