import ChatModel
import RoomProtocol
import Testing

@testable import Rooms

@Suite struct WaitingCallsTests {
    @Test func `calls come out in their order, and those that come meanwhile behind them`() throws {
        var waiting = WaitingCalls()
        #expect(waiting.popFirst() == nil)
        for number in 0..<50 { waiting.append(try .leave("u\(number)"), of: ShardID(UInt16(number))) }
        var taken: [String] = []
        for _ in 0..<20 { taken.append(try #require(waiting.popFirst()?.work.name)) }
        for number in 50..<60 { waiting.append(try .leave("u\(number)"), of: ShardID(UInt16(number))) }
        while let next = waiting.popFirst() {
            taken.append(try #require(next.work.name))
            #expect(next.work.name == "u\(next.shard.number)")
        }
        #expect(taken == (0..<60).map { "u\($0)" })
        #expect(waiting.isEmpty)
    }

    @Test func `more than the bound is too much`() throws {
        var waiting = WaitingCalls()
        let call = try RoomWork.leave("u")
        for _ in 0..<WaitingCalls.countMax { waiting.append(call, of: ShardID(0)) }
        #expect(!waiting.isOverfull)
        waiting.append(call, of: ShardID(0))
        #expect(waiting.isOverfull)
        _ = waiting.popFirst()
        #expect(!waiting.isOverfull)
    }
}
