import ChatModel
import RoomProtocol
import Testing

@testable import Rooms

@Suite struct WaitingCallsTests {
    private func calls(_ numbers: Range<Int>) throws -> [(ShardID, RoomWork)] {
        try numbers.map { (ShardID(0), try .leave("u\($0)")) }
    }

    @Test func `calls come out in their order, a few at a time, those that come meanwhile behind them`() throws {
        var waiting = WaitingCalls()
        let none = waiting.take()
        #expect(none.isEmpty)
        waiting.append(try calls(0..<50))
        var taken = waiting.take().map(\.1.name)
        #expect(!taken.isEmpty && taken.count < 50)
        waiting.append(try calls(50..<60))
        while !waiting.isEmpty { taken += waiting.take().map(\.1.name) }
        #expect(taken == (0..<60).map { "u\($0)" })
    }

    @Test func `what was taken is let go of, though there are always some`() throws {
        var waiting = WaitingCalls()
        let some = try calls(0..<32)
        waiting.append(some)
        for _ in 0..<1_000 {
            waiting.append(some)
            let taken = waiting.take()
            #expect(taken.count == 32)
            #expect(waiting.keptCount <= 1_024)
        }
    }

    @Test func `more than the bound is too much`() throws {
        var waiting = WaitingCalls()
        let some = try calls(0..<1024)
        for _ in 0..<(WaitingCalls.countMax / 1024) { waiting.append(some) }
        #expect(!waiting.isOverfull)
        waiting.append(try calls(0..<1))
        #expect(waiting.isOverfull)
        _ = waiting.take()
        #expect(!waiting.isOverfull)
    }
}
