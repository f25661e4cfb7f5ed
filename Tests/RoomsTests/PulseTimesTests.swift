import ChatModel
import Testing

@testable import Rooms

/// Shards say what they believe of lanes once a second, spread over it.
@Suite struct PulseTimesTests {
    @Test func `each shard is due once a second, and few in the same turn`() {
        var times = PulseTimes((0..<16).map { ShardID($0) }, at: 1_000)
        var counts: [ShardID: Int] = [:]
        for tick in 0..<100 {
            let now = 1_000 + UInt64(tick) * 100
            let due = times.due(at: now)
            #expect(due.count <= 2)
            for shard in due {
                counts[shard, default: 0] += 1
                times.finish(shard, at: now)
            }
        }
        #expect(counts.count == 16 && counts.values.allSatisfy { (9...10).contains($0) })
    }

    @Test func `after a pause each is due once, the longest first`() {
        var times = PulseTimes((0..<4).map { ShardID($0) }, at: 0)
        #expect(times.due(at: 10_000) == (0..<4).map { ShardID($0) })
        for shard in times.due(at: 10_000) { times.finish(shard, at: 10_000) }
        #expect(times.due(at: 10_000).isEmpty && times.due(at: 10_900).isEmpty)
        #expect(times.due(at: 11_000).count == 4)
    }
}
