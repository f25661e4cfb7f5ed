import StorageTestKit

extension SeededGenerator {
    mutating func below(_ bound: Int) -> Int { bound > 0 ? Int(next() % UInt64(bound)) : 0 }
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
    mutating func milliseconds(_ range: ClosedRange<Int>) -> Duration {
        .milliseconds(range.lowerBound + below(range.count))
    }
}
