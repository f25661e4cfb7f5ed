import Foundation

/// SplitMix64: the same numbers everywhere from one seed.
struct Seed: RandomNumberGenerator {
    private var state: UInt64

    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var z = state
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }

    mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self) < percent }

    /// The seeds of a property test: the one in the environment's SEED, else as many fixed ones as asked for.
    static func seeds(_ count: UInt64) -> [UInt64] {
        if let text = ProcessInfo.processInfo.environment["SEED"], let seed = UInt64(text) { return [seed] }
        return Array(1...count)
    }
}
