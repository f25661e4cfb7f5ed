import SwimDriver
import Testing

@Suite struct ProofTests {
    private static func ring(_ keys: UInt8...) throws -> KeyRing {
        try #require(KeyRing(keys.map { [UInt8](repeating: $0, count: KeyRing.keyBytes) }))
    }

    @Test func `a proof holds for its statement and for who has the key, whichever of his keys it is`() throws {
        let (one, two, both) = (try Self.ring(1), try Self.ring(2), try Self.ring(2, 1))
        let statement = Array("who I am".utf8)
        let proof = one.proof(of: statement)
        #expect(proof.count == 32)
        #expect(one.isProof(proof, of: statement))
        #expect(both.isProof(proof, of: statement))
        #expect(!two.isProof(proof, of: statement))
        #expect(!one.isProof(proof, of: statement + [0]))
        #expect(!one.isProof([], of: statement))
        #expect(!one.isProof(Array(proof.dropLast()), of: statement))
        #expect(both.proof(of: statement) == two.proof(of: statement))
        for place in proof.indices {
            var bad = proof
            bad[place] ^= 1
            #expect(!one.isProof(bad, of: statement))
        }
    }
}
