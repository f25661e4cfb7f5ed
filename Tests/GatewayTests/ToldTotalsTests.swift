import ChatModel
import RoomProtocol
import Testing
import Wire

@testable import Gateway

/// The totals that are told again to viewers who were too slow for them.
@Suite struct ToldTotalsTests {
    private let room: RoomID
    private var totals: ToldTotals

    init() throws {
        room = try #require(RoomID("live"))
        totals = ToldTotals(of: room)
    }

    private mutating func note(_ counts: [String: Int64], in encodings: ClientEncodings = .json) {
        var writer = SharedFrameWriter(encodings)
        writer.append(
            .tallies(TalliesPush(room: room, totals: counts.map { TallyCount(key: $0.key, count: $0.value) })))
        totals.note(writer.frame(.totals))
    }

    @Test mutating func `the newest total of each tally is told, whichever frame had it`() {
        #expect(totals.push == nil)
        note(["like": 1, "gifts": 9])
        note(["like": 5], in: .protobuf)
        note(["a": 0], in: [.json, .protobuf])
        note(["lost": 1], in: [])
        let told = [("a", 0), ("gifts", 9), ("like", 5)].map { TallyCount(key: $0.0, count: $0.1) }
        #expect(totals.push == TalliesPush(room: room, totals: told))
    }

    @Test mutating func `beyond the bound the tally goes that was told of longest ago`() {
        note(["first": 1])
        for number in 1..<ToldTotals.keysMax { note(["k\(number)": 1]) }
        #expect(totals.push?.totals.count == ToldTotals.keysMax)
        note(["k1": 2])
        note(["more": 1])
        #expect(totals.push?.totals.count == ToldTotals.keysMax)
        #expect(totals.push?.totals.contains { $0.key == "first" } == false)
        #expect(totals.push?.totals.contains(TallyCount(key: "k1", count: 2)) == true)
    }
}
