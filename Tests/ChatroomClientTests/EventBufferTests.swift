import ChatModel
import Testing

@testable import ClientCore

/// What a slow consumer gets.
@Suite struct EventBufferTests {
    private func drained(_ buffer: inout EventBuffer<RoomOverflow>) -> [RoomEvent] {
        var events: [RoomEvent] = []
        while let event = buffer.next() { events.append(event) }
        return events
    }

    @Test func `up to the bound every event is there, in order`() {
        var buffer = EventBuffer<RoomOverflow>(eventsMax: 3)
        let events: [RoomEvent] = [.online(1), .message(Script.message(1)), .online(2)]
        for event in events { buffer.append(event) }
        #expect(drained(&buffer) == events)
        #expect(buffer.next() == nil)
    }

    @Test func `beyond it there is a gap and a count, behind what came before`() {
        var buffer = EventBuffer<RoomOverflow>(eventsMax: 2)
        for seq in 1...5 as ClosedRange<UInt64> { buffer.append(.message(Script.message(seq))) }
        var unkept = Script.message(0)
        unkept.place = .unkept(after: 5)
        buffer.append(.message(unkept))
        let item = BarrageItem(from: nil, text: "x", time: Timestamp(0))
        buffer.append(.barrage([item, item]))
        buffer.append(.skipped(Skipped(barrage: 5, unkept: 1)))
        buffer.append(.unsupported(Unsupported("later")))
        #expect(buffer.count == 2)
        #expect(
            drained(&buffer) == [
                .message(Script.message(1)), .message(Script.message(2)),
                .gap(Gap(ranges: [3...5], cause: .consumer)), .skipped(Skipped(barrage: 7, unkept: 2, events: 1)),
            ])
        buffer.append(.message(Script.message(6)))
        #expect(drained(&buffer) == [.message(Script.message(6))])
    }

    @Test func `while there is a summary nothing overtakes it`() {
        var buffer = EventBuffer<RoomOverflow>(eventsMax: 2)
        for seq in 1...3 as ClosedRange<UInt64> { buffer.append(.message(Script.message(seq))) }
        #expect(buffer.next() == .message(Script.message(1)))
        buffer.append(.message(Script.message(4)))
        #expect(drained(&buffer) == [.message(Script.message(2)), .gap(Gap(ranges: [3...4], cause: .consumer))])
    }

    @Test func `states, deliveries, denials and kicks are not lost`() {
        var buffer = EventBuffer<RoomOverflow>(eventsMax: 1)
        let error = ClientError(.kicked, "out")
        buffer.append(.online(1))
        buffer.append(.state(.lost))
        buffer.append(.online(7))
        buffer.append(.delivery(DeliveryChange(clientID: "a", status: .sending)))
        buffer.append(.delivery(DeliveryChange(clientID: "a", status: .unknown)))
        for id in ["h2", "h1"] { buffer.append(.denied(Denial(heldID: id, reason: "rude"))) }
        buffer.append(.kicked(Kick(reason: .byManager)))
        buffer.append(.state(.failed(error)))
        #expect(
            drained(&buffer) == [
                .online(1), .delivery(DeliveryChange(clientID: "a", status: .unknown)),
                .denied(Denial(heldID: "h2", reason: "rude")), .denied(Denial(heldID: "h1", reason: "rude")),
                .online(7), .kicked(Kick(reason: .byManager)), .state(.failed(error)),
            ])
    }

    @Test func `a summary stays small`() throws {
        var buffer = EventBuffer<RoomOverflow>(eventsMax: 1)
        buffer.append(.online(1))
        for seq in 1...10_000 as ClosedRange<UInt64> {
            buffer.append(.message(Script.message(seq * 2)))
            buffer.append(.delivery(DeliveryChange(clientID: "\(seq)", status: .unknown)))
            buffer.append(.denied(Denial(heldID: "\(seq)")))
        }
        let events = drained(&buffer)
        #expect(events.count < 2_100)
        let gaps = events.compactMap { if case .gap(let gap) = $0 { gap } else { nil } }
        let gap = try #require(gaps.first)
        #expect(gaps.count == 1 && gap.ranges.count <= 65)
        #expect(gap.ranges.first?.lowerBound == 2 && gap.ranges.last?.upperBound == 20_000)
        #expect(events.contains(.skipped(Skipped(events: 20_000 - 1_024 - 1_000))))
    }

    @Test func `ranges behave as a set of numbers`() {
        for seed in 1...50 as ClosedRange<UInt64> {
            var random = SplitMix64(seed: seed)
            var ranges = SeqRanges()
            var model: Set<UInt64> = []
            for _ in 0..<40 {
                let low = UInt64.random(in: 0...30, using: &random)
                let range = low...UInt64.random(in: low...min(low + 6, 31), using: &random)
                if Bool.random(using: &random) {
                    ranges.insert(range)
                    model.formUnion(range)
                } else {
                    let removed = ranges.remove(range).flatMap { Array($0) }
                    #expect(Set(removed) == model.intersection(range), "seed \(seed)")
                    model.subtract(range)
                }
                #expect(ranges.ranges.flatMap { Array($0) } == model.sorted(), "seed \(seed)")
                for (a, b) in zip(ranges.ranges, ranges.ranges.dropFirst()) {
                    #expect(a.upperBound + 1 < b.lowerBound, "seed \(seed): disjoint and not touching")
                }
            }
        }
    }
}
