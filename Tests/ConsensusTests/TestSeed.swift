import ChatModel
import Foundation

@testable import Consensus

/// The seed of property tests: from the environment (`SEED`), else the same one every time; printed in either case.
enum TestSeed {
    static func generator(_ test: String) -> SplitMix64 {
        let seed = ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) } ?? 20_140_824
        print("\(test): SEED=\(seed)")
        return SplitMix64(seed: seed)
    }
}

extension SplitMix64 {
    mutating func below(_ bound: Int) -> Int { Int(next() % UInt64(bound)) }
}
