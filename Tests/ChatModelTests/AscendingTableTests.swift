import ChatModel
import Testing

@Suite struct AscendingTableTests {
    /// The same as an array that is looked through from its beginning.
    private struct Model {
        var entries: [(number: UInt32, value: Int)] = []

        mutating func removeValue(at number: UInt32) -> Int? {
            entries.firstIndex { $0.number == number }.map { entries.remove(at: $0).value }
        }
    }

    @Test func `a value is found by its number, in whatever order values go`() throws {
        for round in 0..<300 {
            var random = SplitMix64(seed: UInt64(round))
            var (table, model) = (AscendingTable<Int>(), Model())
            // Numbers wrap around; in every third round some come again.
            var number = UInt32.max &- UInt32.random(in: 0..<200, using: &random)
            for step in 0..<400 {
                if Int.random(in: 0..<9, using: &random) < (step < 200 ? 5 : 3) {
                    let back: UInt32 = round % 3 == 0 && Int.random(in: 0..<9, using: &random) == 0 ? 7 : 0
                    number = number &+ UInt32.random(in: 1..<4, using: &random) &- back
                    table.append(step, at: number)
                    model.entries.append((number, step))
                } else if let some = model.entries.prefix(round % 2 == 0 ? 3 : 1_000).randomElement(using: &random) {
                    #expect(table[some.number] == model.entries.first { $0.number == some.number }?.value)
                    #expect(table.removeValue(at: some.number) == model.removeValue(at: some.number))
                }
                let other = number &- UInt32.random(in: 0..<60, using: &random)
                try #require(table[other] == model.entries.first { $0.number == other }?.value)
                try #require(table.count == model.entries.count)
                try #require(table.isEmpty == model.entries.isEmpty)
                try #require(Array(table.values) == model.entries.map(\.value))
                try #require(Array(table.numbers) == model.entries.map(\.number))
            }
        }
    }

    @Test func `one that is never removed keeps none of those after it`() {
        final class Thing: Sendable {}
        var table = AscendingTable<Thing>()
        table.append(Thing(), at: 0)
        weak var last: Thing?
        for number in 1...10_000 as ClosedRange<UInt32> {
            let thing = Thing()
            last = thing
            table.append(thing, at: number)
            _ = table.removeValue(at: number)
        }
        #expect(last == nil)
        #expect(table.count == 1)
        #expect(table[0] != nil)
        #expect(table.removeValue(at: 5) == nil)
    }
}
