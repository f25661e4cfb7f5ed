import ChatModel
import Testing

@Suite struct `Session IDs` {
    @Test func `tell where the session began, behind 128 bits that nobody can guess`() throws {
        let node = try #require(NodeID("node-1.example"))
        let id = SessionID(random: (0xab, .max), at: node)
        #expect(id.text == "00000000000000abffffffffffffffff-node-1.example")
        #expect(id.birthplace == node)
        #expect(SessionID(id.text) == id)
    }

    @Test func `have room for 64 bytes, secret first`() throws {
        for length in 1...64 {
            let node = try #require(NodeID(String(repeating: "n", count: length)))
            let id = SessionID(random: (1, 2), at: node)
            #expect(id.text.utf8.count <= 64 && id.text.hasPrefix("00000000000000010000000000000002"))
            #expect(id.birthplace == (length <= 31 ? node : nil))
        }
    }

    @Test func `of any other form tell nothing`() {
        let secret = String(repeating: "0", count: 32)
        for text in ["unknown", secret, secret + "-", secret + "n1", secret + "-n 1", "-n1"] {
            #expect(SessionID(text)?.birthplace == nil, "\(text)")
        }
    }
}
