import ChatModel
import EventLoop
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
        let isShown = totals.note(writer.frame(.totals))
        #expect(isShown)
    }

    @Test(arguments: [ClientEncodings.json, .protobuf, [.json, .protobuf]])
    mutating func `a tally that a restatement lacks is not told again, and no viewer is given it`(
        in encodings: ClientEncodings
    ) {
        note(["gone": 7, "like": 1])
        note(["gone": 8])
        var writer = SharedFrameWriter(encodings)
        writer.append(.tallies(TalliesPush(room: room, totals: [])))
        writer.append(.tallies(TalliesPush(room: room, totals: [TallyCount(key: "like", count: 2)])))
        var isShown = totals.note(writer.frame(.totals))
        #expect(!isShown && totals.push?.totals == [TallyCount(key: "like", count: 2)])
        note(["new": 1])
        #expect(totals.push?.totals.map(\.key) == ["like", "new"])
        // There is none any more.
        writer = SharedFrameWriter(encodings)
        writer.append(.tallies(TalliesPush(room: room, totals: [])))
        isShown = totals.note(writer.frame(.totals))
        #expect(!isShown && totals.push == nil)
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

    @Test func `those of a former leader are forgotten where its stream goes on`() async throws {
        let room = room
        var writer = SharedFrameWriter(.json)
        writer.append(.tallies(TalliesPush(room: room, totals: [TallyCount(key: "gone", count: 7)])))
        let frame = writer.frame(.totals)
        try await TestGateway.run(at: try #require(NodeID("n1"))) { gateway in
            let lane = try #require(gateway.lane(0))
            let told = await lane.loop.run {
                let hub = Hub(room: room, lane: lane.value)
                hub.broadcast(frame)
                let before = hub.totals.push?.totals.count
                hub.resume()
                return [before, hub.totals.push?.totals.count]
            }
            #expect(told == [1, nil])
        }
    }
}
