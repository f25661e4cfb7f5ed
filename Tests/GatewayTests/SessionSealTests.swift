import ChatModel
import Testing

@testable import Gateway

@Suite struct `The seal of session IDs` {
    private let seal = SessionSeal(secrets: [Array("one".utf8), Array("two".utf8)])
    private let node: NodeID
    private let ann: UserID

    init() throws {
        node = try #require(NodeID("n1"))
        ann = try #require(UserID("ann"))
    }

    @Test func `tells whose a session is and when it began`() {
        let (id, user) = seal.make(for: ann, at: node, startedAt: Timestamp(1_700_000_000_123), random: 7)
        #expect(user == ann && id.text.utf8.count <= 64 && id.isBorn(at: node))
        #expect(seal.open(id, of: ann) == .init(user: ann, startedAt: Timestamp(1_700_000_000_123)))
        #expect(seal.open(id, of: nil) == nil)
        #expect(seal.open(id, of: UserID("bob")) == nil)
    }

    @Test func `finds the user of an anonymous session again, and nobody else's`() {
        let (id, user) = seal.make(for: nil, at: node, startedAt: Timestamp(1), random: 7)
        #expect(user.text.hasPrefix("anon-") && user.text.utf8.count == 21)
        #expect(seal.open(id, of: nil)?.user == user)
        #expect(seal.open(id, of: user) == nil)
        #expect(!id.text.contains(user.text.dropFirst(5)))
        let (_, other) = seal.make(for: nil, at: node, startedAt: Timestamp(1), random: 8)
        #expect(other != user)
    }

    @Test func `takes what any of its keys has made, and nothing that another cluster has`() {
        let older = SessionSeal(secrets: [Array("two".utf8)])
        let (id, user) = older.make(for: nil, at: node, startedAt: Timestamp(1), random: 7)
        #expect(seal.open(id, of: nil)?.user == user)
        #expect(SessionSeal(secrets: [Array("three".utf8)]).open(id, of: nil) == nil)
        #expect(SessionSeal.ofThisRun().open(id, of: nil) == nil)
    }

    @Test func `takes no ID in which a single character is another one, nor a part of it`() {
        let (id, _) = seal.make(for: ann, at: node, startedAt: Timestamp(1_700_000_000_123), random: .max)
        let text = Array(id.text)
        for place in text.indices {
            var changed = text
            changed[place] = changed[place] == "A" ? "B" : "A"
            #expect(SessionID(String(changed)).flatMap { seal.open($0, of: ann) } == nil, "\(place)")
            if let part = SessionID(String(text.prefix(place))) { #expect(seal.open(part, of: ann) == nil) }
        }
        #expect(SessionID(id.text + "x").flatMap { seal.open($0, of: ann) } == nil)
        for garbage in ["x", String(repeating: "-", count: 64), String(repeating: "é", count: 32)] {
            #expect(SessionID(garbage).flatMap { seal.open($0, of: ann) } == nil)
        }
    }
}
