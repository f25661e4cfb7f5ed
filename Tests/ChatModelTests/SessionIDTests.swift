import ChatModel
import Testing

@Suite struct `Session IDs` {
    private let secret = String(repeating: "s", count: SessionID.secretBytes)

    @Test func `tell where the session began, behind a secret`() throws {
        let node = try #require(NodeID("node-1.example"))
        let id = SessionID(secret: secret, at: node)
        #expect(id.text == secret + "-node-1.example")
        #expect(id.secret.elementsEqual(secret.utf8))
        #expect(id.isBorn(at: node))
        #expect(!id.isBorn(at: try #require(NodeID("node-1.exampl"))))
        #expect(SessionID(id.text) == id)
    }

    @Test func `have room for 64 bytes, and tell nodes with long names apart all the same`() throws {
        for length in 1...64 {
            let node = try #require(NodeID(String(repeating: "n", count: length)))
            let other = try #require(NodeID(String(repeating: "n", count: length - 1) + "m"))
            let id = SessionID(secret: secret, at: node)
            #expect(id.text.utf8.count <= 64 && id.text.hasPrefix(secret))
            #expect(id.isBorn(at: node) && !id.isBorn(at: other))
        }
    }

    @Test func `of any other form are born nowhere`() throws {
        let node = try #require(NodeID("n1"))
        for text in ["unknown", secret, secret + "-", secret + "n1", secret + "-n 1", "-n1"] {
            #expect(SessionID(text)?.isBorn(at: node) == false, "\(text)")
        }
    }
}
