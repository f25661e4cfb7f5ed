import Foundation

/// A generator whose run can be repeated: SplitMix64 (Steele, Lea, Flood 2014). The environment's SEED wins: a number, or `random`.
struct SeededGenerator: RandomNumberGenerator {
    let seed: UInt64
    private var state: UInt64

    init(seed: UInt64) {
        self.seed = seed
        state = seed
        print("SEED=\(seed)")
    }

    static func environmentSeed() -> UInt64 {
        let text = ProcessInfo.processInfo.environment["SEED"]
        return text.flatMap(UInt64.init) ?? (text == "random" ? .random(in: 0 ... .max) : 1)
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
