import Foundation

/// SplitMix64: the same numbers for the same seed.
public struct SeededGenerator: RandomNumberGenerator, Sendable {
    private var state: UInt64

    public init(seed: UInt64) { state = seed }

    public mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }

    /// The seeds of a property test: the one in the environment's SEED; with SEED=random `count` of them that change with
    /// each run; else `count` fixed ones, so that the same sources have the same result.
    public static func seeds(_ count: Int) -> [UInt64] {
        let text = ProcessInfo.processInfo.environment["SEED"]
        if let seed = text.flatMap(UInt64.init) { return [seed] }
        return (0..<UInt64(count)).map { text == "random" ? .random(in: 1...UInt64(Int64.max)) : $0 + 1 }
    }
}
