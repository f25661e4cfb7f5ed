import Cryptography
import CryptographyTestKit
import Foundation
import Testing

@testable import Node

/// `#expect` takes no call that changes something.
private func expect<Value: Equatable>(
    _ value: Value, _ expected: Value, sourceLocation: SourceLocation = #_sourceLocation
) {
    #expect(value == expected, sourceLocation: sourceLocation)
}

/// When a key set is read, and which of its keys are known: event, answer, event, answer. Times are milliseconds.
struct KeySetCacheTests {
    private static let signer = TestSigner(.ES256)

    private static func keys(_ kids: String...) throws -> [String: [JWSKey]] {
        let document = try JSONSerialization.data(withJSONObject: ["keys": kids.map { signer.jwk($0) }])
        return try KeySetDocument.keys(Array(document), for: [.ES256])
    }

    private var cache = KeySetCache(algorithms: [.ES256, .RS256])

    private mutating func answer(_ kid: String, _ algorithm: String = "ES256", at now: Int64) -> String {
        switch cache.onKid(kid, algorithm: algorithm, at: now) {
        case .known(let keys): "known \(keys.count)"
        case .read: "read"
        case .wait: "wait"
        case .unknown: "unknown"
        case .notReadYet: "not read yet"
        }
    }

    @Test mutating func `it is read at the start and every five minutes`() throws {
        expect(cache.onTime(7), true)
        expect(cache.onTime(8), false)
        cache.onRead(try Self.keys("a"))
        #expect(cache.dueAt == 300_007)
        expect(cache.onTime(300_006), false)
        expect(cache.onTime(300_007), true)
        // A reading that takes long delays no other.
        expect(cache.onTime(700_000), false)
        cache.onRead(nil)
        expect(cache.onTime(700_000), true)
    }

    @Test mutating func `before the first success nobody can say, and tokens make it read at most every 30 seconds`()
        throws
    {
        expect(cache.onTime(0), true)
        expect(answer("a", at: 10), "wait")
        cache.onRead(nil)
        expect(answer("a", at: 20), "read")
        expect(answer("b", at: 21), "wait")
        cache.onRead(nil)
        expect(answer("a", at: 22), "not read yet")
        expect(answer("b", at: 30_019), "not read yet")
        expect(answer("b", at: 30_020), "read")
        cache.onRead(try Self.keys("a"))
        expect(answer("a", at: 30_021), "known 1")
        expect(answer("b", at: 30_021), "unknown")
    }

    @Test mutating func `a new kid is looked for at once, and then once in 30 seconds whatever the names are`() throws {
        expect(cache.onTime(0), true)
        cache.onRead(try Self.keys("a"))
        // The reading at the start was for no kid.
        expect(answer("b", at: 1), "read")
        expect(answer("a", at: 2), "known 1")
        cache.onRead(try Self.keys("a"))
        for (kid, time) in [("b", 3), ("c", 4), ("d", 30_000)] as [(String, Int64)] {
            expect(answer(kid, at: time), "unknown")
        }
        expect(answer("d", at: 30_001), "read")
        cache.onRead(try Self.keys("d"))
        expect(answer("d", at: 30_002), "known 1")
        // Withdrawn by the issuer.
        expect(answer("a", at: 30_003), "unknown")
        // A reading for a kid is one of the regular ones too.
        #expect(cache.dueAt == 330_001)
    }

    @Test mutating func `known keys stay while it can't be read`() throws {
        expect(cache.onTime(0), true)
        cache.onRead(try Self.keys("a"))
        for time in stride(from: Int64(300_000), through: 3_000_000, by: 300_000) {
            expect(cache.onTime(time), true)
            expect(answer("a", at: time), "known 1")
            cache.onRead(nil)
            expect(answer("a", at: time + 1), "known 1")
        }
        expect(answer("b", at: 3_000_001), "read")
        cache.onRead(nil)
        expect(answer("b", at: 3_000_002), "unknown")
    }

    @Test mutating func `an empty set is a success`() throws {
        expect(cache.onTime(0), true)
        cache.onRead([:])
        expect(answer("a", at: 1), "read")
        cache.onRead([:])
        expect(answer("a", at: 2), "unknown")
    }

    @Test(arguments: ["HS256", "EdDSA", "none", "PS256", "", "es256"])
    mutating func `a token of an algorithm that the record does not name makes nobody read`(_ algorithm: String) throws
    {
        expect(answer("a", algorithm, at: 0), "unknown")
        expect(cache.onTime(0), true)
        expect(answer("a", algorithm, at: 1), "unknown")
        cache.onRead(try Self.keys("a"))
        expect(answer("a", algorithm, at: 2), "unknown")
    }
}
