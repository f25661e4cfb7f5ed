import ChatModel
import Testing

@testable import Consensus

@Suite struct MembershipCodingTests {
    let membership = GroupMembership(
        voters: [ServerID(node: "north-1", store: .max), ServerID(node: "süd", store: 1)],
        learners: [ServerID(node: "", store: 0)])

    @Test func `a membership survives its encoding`() {
        #expect(GroupMembership(decoding: membership.encoded()) == membership)
        let sole = GroupMembership(voters: [ServerID(node: String(repeating: "x", count: 255), store: 7)])
        #expect(GroupMembership(decoding: sole.encoded()) == sole)
    }

    @Test func `the encoding is what other versions will read`() {
        let bytes = GroupMembership(voters: [ServerID(node: "ab", store: 0x0102)]).encoded()
        #expect(bytes == [1, 1, 2, 0x61, 0x62, 0, 0, 0, 0, 0, 0, 1, 2, 0])
    }

    @Test func `no truncation and no extension of it is taken for a membership`() {
        let bytes = membership.encoded()
        for length in 0..<bytes.count { #expect(GroupMembership(decoding: Array(bytes.prefix(length))) == nil) }
        #expect(GroupMembership(decoding: bytes + [0]) == nil)
    }

    @Test func `another version, no voters, doubles and bad UTF-8 are refused`() {
        #expect(GroupMembership(decoding: [2] + membership.encoded().dropFirst()) == nil)
        #expect(GroupMembership(decoding: [1, 0, 0]) == nil)
        let twice = GroupMembership(voters: membership.voters, learners: [membership.voters[0]])
        #expect(GroupMembership(decoding: twice.encoded()) == nil)
        #expect(GroupMembership(decoding: [1, 1, 1, 0xFF, 0, 0, 0, 0, 0, 0, 0, 1, 0]) == nil)
    }

    @Test func `random bytes never trap`() {
        var random = TestSeed.generator("membership")
        for _ in 0..<5_000 {
            var bytes = membership.encoded()
            for _ in 0...random.below(4) {
                bytes[random.below(bytes.count)] = UInt8(truncatingIfNeeded: random.next())
            }
            if let decoded = GroupMembership(decoding: bytes) {
                #expect(decoded.encoded() == bytes)
            }
        }
    }
}
