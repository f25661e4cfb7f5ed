import ChatModel
import Testing

@testable import NodeLinkCore

/// One connection as both sides see it.
struct LinkConversationTests {
    private static let keys = LinkKeys(
        prove: { [UInt8(truncatingIfNeeded: $0.count)] }, accepts: { !$0.isEmpty && !$1.isEmpty })

    private func conversation(_ node: NodeID, calling other: NodeID?, nonce: UInt8, at now: UInt64 = 0)
        -> LinkConversation
    {
        let greeting = LinkGreeting(
            LinkHello(cluster: "c", node: node, store: 1, boot: 1, shards: 4),
            nonce: [UInt8](repeating: nonce, count: LinkHello.nonceBytes), isCaller: other != nil, expected: other,
            keys: Self.keys)
        return LinkConversation(
            greeting, patience: LinkConversation.Patience(greeting: 5_000, ping: 1_000, silence: 5_000), at: now)
    }

    /// What `from` writes, as `to` hears it.
    private func pass(_ from: inout LinkConversation, _ to: inout LinkConversation, at now: UInt64) throws
        -> [LinkConversation.Heard]
    {
        var bytes: [UInt8] = []
        from.take(about: 1 << 20, into: &bytes, at: now)
        bytes.withUnsafeBytes { to.append($0, at: now) }
        var heard: [LinkConversation.Heard] = []
        while let frame = try to.nextFrame() {
            heard.append(try to.heard(frame) { _ throws(LinkError) in (nil, []) })
        }
        return heard
    }

    private func pair() throws -> (caller: LinkConversation, called: LinkConversation) {
        var (a, b) = (
            conversation(Names.node("a"), calling: Names.node("b"), nonce: 1),
            conversation(Names.node("b"), calling: nil, nonce: 2)
        )
        let toCalled = try pass(&a, &b, at: 1)
        #expect(toCalled == [.nothing])
        let toCaller = try pass(&b, &a, at: 1)
        #expect(toCaller == [.mayWrite])
        guard case .greeted(let hello, let proof?)? = try pass(&a, &b, at: 2).first else {
            throw LinkError(.proof, "the called side is not satisfied")
        }
        #expect(hello.node == Names.node("a") && b.claimed == Names.node("a"))
        _ = b.offer(proof)
        b.onUp(with: Names.node("a"))
        guard case .greeted(_, nil)? = try pass(&b, &a, at: 3).first else {
            throw LinkError(.proof, "the caller is not satisfied")
        }
        a.onUp(with: Names.node("b"))
        return (a, b)
    }

    @Test func `frames come when both have proved who they are, and not before`() throws {
        var (a, b) = (
            conversation(Names.node("a"), calling: Names.node("b"), nonce: 1),
            conversation(Names.node("b"), calling: nil, nonce: 2)
        )
        _ = try pass(&a, &b, at: 0)
        _ = a.offer(LinkFrame(.calls, [1]))
        #expect(throws: LinkError.helloExpected) { try pass(&a, &b, at: 0) }

        var (caller, called) = try pair()
        _ = caller.offer(LinkFrame(.calls, [7]))
        let first = try pass(&caller, &called, at: 4)
        #expect(first == [.frame(LinkFrame(.calls, [7]), from: Names.node("a"))])
    }

    @Test func `a silent side is down, and a ping is due before`() throws {
        var (a, b) = try pair()
        #expect(a.nextLook == 1_002)
        let early = a.look(at: 1_002, wasStopped: false)
        #expect(early == .pingDue)
        _ = a.offer(LinkControl.ping.frame)
        let ping = try pass(&a, &b, at: 1_002)
        #expect(ping == [.nothing])
        let late = a.look(at: 5_003, wasStopped: false)
        #expect(late == .silent(Names.node("b")))
        let other = b.look(at: 5_003, wasStopped: false)
        #expect(other == .pingDue)
    }

    @Test func `a process that stood still first reads what has come meanwhile`() throws {
        var (a, _) = try pair()
        let waking = a.look(at: 20_000, wasStopped: true)
        #expect(waking == .pingDue)
        let after = a.look(at: 21_000, wasStopped: false)
        #expect(after == .silent(Names.node("b")))
        var greeting = conversation(Names.node("a"), calling: Names.node("b"), nonce: 1)
        let begun = greeting.look(at: 20_000, wasStopped: true)
        #expect(begun == .nothing)
        let over = greeting.look(at: 21_000, wasStopped: false)
        #expect(over == .greetingLate)
    }

    @Test func `what waits is dropped when it ends with a word, and nothing is heard any more`() throws {
        var (a, b) = try pair()
        _ = a.offer(LinkFrame(.bulk, [1, 2, 3]))
        let reason = LinkError(.malformed, "nonsense")
        a.end(because: reason)
        let word = try pass(&a, &b, at: 5)
        #expect(word == [.refused(reason)])
        _ = b.offer(LinkFrame(.calls, [1]))
        let nothing = try pass(&b, &a, at: 5)
        #expect(nothing == [])
        #expect(a.nextLook == nil)
    }
}
