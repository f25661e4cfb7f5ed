import BotSwarmCore
import ChatModel
import Testing

@Suite struct QueueReplayTests {
    @Test func `changes, answers and the queue in the end agree`() throws {
        var room = try ReplayFixture()
        room.set(room.element("a", "v1", of: 0), by: 0, change: .offer)
        room.set(room.element("b", "v2", of: 1), by: 1, change: .offer)
        room.set(room.element("a", "v3", of: 1, version: 2), by: 1, change: .update)
        let batch = [room.element("a", "v4", of: 0, version: 3), room.element("b", "v5", of: 0, version: 2)]
        room.notify(.queueBatchChanged(.batchUpdate, batch))
        room.room.ledger.queueRead(room.room.viewers[0], QueueAnswer(seq: room.seq, elements: batch))
        room.notify(.queueChanged(.poll, batch[0]))
        room.room.ledger.seatTaken(room.room.viewers[1], batch[0])
        room.room.ledger.queueRead(room.room.viewers[1], QueueAnswer(seq: room.seq, elements: [batch[1]]))
        room.notify(.queueChanged(.drop, nil))
        room.room.ledger.queueRead(room.room.viewers[1], QueueAnswer(seq: room.seq, elements: []))
        #expect(room.close() == [:])
    }

    @Test func `an answer that is not the queue at its seq is found`() throws {
        var room = try ReplayFixture()
        let first = room.element("a", "v1", of: 0)
        room.set(first, by: 0, change: .offer)
        room.set(room.element("a", "v2", of: 0, version: 2), by: 0, change: .update)
        room.room.ledger.queueRead(room.room.viewers[0], QueueAnswer(seq: 2, elements: [first]))
        room.room.ledger.queueRead(room.room.viewers[0], QueueAnswer(seq: 9, elements: []))
        #expect(room.close() == [.queueDiffers: 2])
    }

    @Test func `a notification that does not fit to those before it is found`() throws {
        let faults: [(inout ReplayFixture) -> Void] = [
            { $0.notify(.queueChanged(.offer, $0.element("a", "w", of: 1))) },
            { $0.notify(.queueChanged(.update, $0.element("a", "w", of: 1, version: 3))) },
            { $0.notify(.queueChanged(.update, $0.element("b", "w", of: 1, version: 2))) },
            { $0.notify(.queueChanged(.poll, $0.element("a", "w", of: 0))) },
            { $0.notify(.queueChanged(.poll, $0.element("b", "w", of: 0))) },
            { $0.notify(.queueBatchChanged(.partClear, [$0.element("a", "v1", of: 0)])) },
            { $0.notify(.queueBatchChanged(.batchUpdate, [])) },
            { $0.notify(.queueChanged(.drop, $0.element("a", "v1", of: 0))) },
        ]
        for (index, fault) in faults.enumerated() {
            var room = try ReplayFixture()
            room.set(room.element("a", "v1", of: 0), by: 0, change: .offer)
            fault(&room)
            #expect(room.close() == [.queueDiffers: 1], "fault \(index)")
        }
    }

    @Test func `an acked change has to be in the stream once, a refused one never`() throws {
        var room = try ReplayFixture()
        room.room.ledger.seatWrite(room.room.viewers[0], key: "a", value: "lost")
        room.room.ledger.seatAnswered(value: "lost", .acked(nil))
        room.room.ledger.seatWrite(room.room.viewers[0], key: "a", value: "refused")
        room.notify(.queueChanged(.offer, room.element("a", "refused", of: 0)))
        room.room.ledger.seatAnswered(value: "refused", .refused)
        room.room.ledger.seatWrite(room.room.viewers[0], key: "b", value: "open")
        #expect(room.close() == [.queueDiffers: 2])
    }

    @Test func `an element is given to one taker`() throws {
        var room = try ReplayFixture()
        let element = room.element("a", "v1", of: 0)
        room.set(element, by: 0, change: .offer)
        room.notify(.queueChanged(.poll, element))
        room.room.ledger.seatTaken(room.room.viewers[0], element)
        room.room.ledger.seatTaken(room.room.viewers[1], element)
        #expect(room.close() == [.queueDiffers: 1])
    }

    @Test func `a conflict needs another version at the time`() throws {
        for (version, isWrong) in [(1 as Int64, true), (0, false)] {
            var room = try ReplayFixture()
            room.set(room.element("a", "v1", of: 0), by: 0, change: .offer)
            room.room.ledger.refusal(
                room.room.viewers[1], .conflict, "queueSet", from: room.seq,
                version: ReplayNotes.QueueVersion(key: "a", version: version))
            #expect(room.close() == (isWrong ? [.wrongAnswer: 1] : [:]))
        }
    }

    /// Viewer 1 with a seat goes away and comes back.
    private func comeBack(_ absence: ReplayNotes.Absence, clears: Bool) throws -> [Finding.Kind: Int] {
        var room = try ReplayFixture()
        let seat = room.element("a", "v1", of: 1, transient: true)
        room.set(seat, by: 1, change: .offer)
        room.room.ledger.leave(room.room.viewers[1], kicked: false)
        if clears { room.notify(.queueBatchChanged(.partClear, [seat])) }
        room.say(by: 0)
        let missed = room.history.filter { $0.seq > 1 }
        room.room.ledger.entry(room.room.viewers[1], at: room.seq, after: absence)
        room.room.enter(room.room.viewers[1], seq: room.seq, since: 1, missed: missed)
        return room.close()
    }

    @Test func `seats go with their owner, and are kept in the grace`() throws {
        #expect(try comeBack(.left, clears: true) == [:])
        #expect(try comeBack(.left, clears: false) == [.wrongSeat: 1])
        #expect(try comeBack(.dropped(milliseconds: 2_000, from: 1), clears: false) == [:])
        #expect(try comeBack(.dropped(milliseconds: 2_000, from: 1), clears: true) == [.wrongSeat: 1])
        #expect(try comeBack(.dropped(milliseconds: 20_000, from: 1), clears: true) == [:])
        // A leader that has taken over meanwhile gives another grace.
        #expect(try comeBack(.dropped(milliseconds: 20_000, from: 1), clears: false) == [:])
        #expect(try comeBack(.dropped(milliseconds: 25_000, from: 1), clears: false) == [.wrongSeat: 1])
    }
}
