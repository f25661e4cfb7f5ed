import ChatModel
import Testing

@testable import NodeLinkCore

/// The greeting as dialogues: both sides, and whoever stands between them or in the place of one.
@Suite struct LinkGreetingTests {
    /// A code that tells every other key and every other statement apart, without any crypto.
    private static func keys(_ secrets: UInt64...) -> LinkKeys {
        @Sendable func code(_ secret: UInt64, _ statement: [UInt8]) -> [UInt8] {
            var hash = 0xCBF2_9CE4_8422_2325 ^ secret
            for byte in statement { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
            return withUnsafeBytes(of: hash.bigEndian) { Array($0) }
        }
        return LinkKeys(
            prove: { code(secrets.first ?? 0, $0) },
            accepts: { proof, statement in secrets.contains { code($0, statement) == proof } })
    }

    private static func hello(_ node: String, cluster: String = "c") -> LinkHello {
        LinkHello(cluster: cluster, node: Names.node(node), store: 9, boot: 1, shards: 16)
    }

    private static func nonce(_ byte: UInt8) -> [UInt8] { [UInt8](repeating: byte, count: LinkHello.nonceBytes) }

    /// One end of a connection.
    private struct End {
        var greeting: LinkGreeting
        var certified: NodeID?
        var binding: [UInt8] = []
        /// What it has said, and what it was told.
        var said: [LinkFrame]
        var other: LinkHello?

        init(
            _ hello: LinkHello, calls: String? = nil, isCaller: Bool? = nil, nonce: UInt8, keys: LinkKeys,
            binding: [UInt8] = []
        ) {
            greeting = LinkGreeting(
                hello, nonce: LinkGreetingTests.nonce(nonce), isCaller: isCaller ?? (calls != nil),
                expected: calls.map(Names.node), keys: keys)
            said = [greeting.frame]
            self.binding = binding
        }

        mutating func hear(_ frame: LinkFrame) throws(LinkError) {
            let step: LinkGreeting.Step
            switch try LinkControl(frame.payload) {
            case .hello(let other):
                step = try greeting.heard(
                    other, payload: frame.payload, certified: certified, binding: binding)
            case .proof(let proof): step = try greeting.heard(proof: proof)
            case .refusal, .credit, .ping: throw LinkError(.malformed, "no greeting")
            }
            switch step {
            case .wait: break
            case .send(let answer): said.append(answer)
            case .done(let other, let proof):
                self.other = other
                if let proof { said.append(proof) }
            }
        }

        /// The code of an error that hearing it leads to; nil: none.
        mutating func refusal(of frame: LinkFrame) -> LinkError.Code? {
            do throws(LinkError) {
                try hear(frame)
                return nil
            } catch {
                return error.code
            }
        }
    }

    private static func caller(_ keys: LinkKeys = keys(1), nonce: UInt8 = 1, binding: [UInt8] = []) -> End {
        End(hello("a"), calls: "b", nonce: nonce, keys: keys, binding: binding)
    }

    private static func called(_ keys: LinkKeys = keys(1), nonce: UInt8 = 2, binding: [UInt8] = []) -> End {
        End(hello("b"), nonce: nonce, keys: keys, binding: binding)
    }

    @Test func `both prove themselves, the caller first, and nobody is done before`() throws {
        var (a, b) = (Self.caller(), Self.called())
        try b.hear(a.said[0])
        #expect(b.said.count == 1 && b.other == nil, "who was called waits for the caller's proof")
        try a.hear(b.said[0])
        #expect(a.said.count == 2 && a.other == nil)
        try b.hear(a.said[1])
        #expect(b.other?.node == Names.node("a") && b.said.count == 2)
        try a.hear(b.said[1])
        #expect(a.other?.node == Names.node("b") && a.said.count == 2)
    }

    @Test func `a wrong key is refused on either side, and gets no proof of the right one`() throws {
        for (ofCaller, ofCalled) in [(1, 2), (2, 1)] as [(UInt64, UInt64)] {
            var (a, b) = (Self.caller(Self.keys(ofCaller)), Self.called(Self.keys(ofCalled)))
            try b.hear(a.said[0])
            try a.hear(b.said[0])
            #expect(b.refusal(of: a.said[1]) == .proof)
            #expect(b.other == nil && b.said.count == 1)
        }
        // One that is in the place of the called node, and takes any proof.
        var a = Self.caller()
        let all = LinkKeys(prove: { _ in [1, 2, 3] }, accepts: { _, _ in true })
        var thief = Self.called(all)
        try thief.hear(a.said[0])
        try a.hear(thief.said[0])
        try thief.hear(a.said[1])
        #expect(a.refusal(of: thief.said[1]) == .proof)
        #expect(a.other == nil)
    }

    @Test func `while keys are rotated everybody proves himself to everybody`() throws {
        let steps = [Self.keys(1), Self.keys(1, 2), Self.keys(2, 1), Self.keys(2)]
        for (step, next) in zip(steps, steps.dropFirst()) {
            for (ofCaller, ofCalled) in [(step, next), (next, step), (next, next)] {
                var (a, b) = (Self.caller(ofCaller), Self.called(ofCalled))
                try b.hear(a.said[0])
                try a.hear(b.said[0])
                try b.hear(a.said[1])
                try a.hear(b.said[1])
                #expect(a.other != nil && b.other != nil)
            }
        }
    }

    @Test func `what was said on another connection is worth nothing when it is repeated`() throws {
        var (a, b) = (Self.caller(), Self.called())
        try b.hear(a.said[0])
        try a.hear(b.said[0])
        try b.hear(a.said[1])
        try a.hear(b.said[1])
        var later = Self.called(nonce: 3)
        try later.hear(a.said[0])
        #expect(later.refusal(of: a.said[1]) == .proof)
        var again = Self.caller(nonce: 4)
        try again.hear(b.said[0])
        #expect(again.refusal(of: b.said[1]) == .proof)
    }

    @Test func `a proof that is sent back proves nothing, and a hello that is sent back is oneself`() throws {
        var (a, mirror) = (Self.caller(), Self.called(Self.keys(9)))
        try mirror.hear(a.said[0])
        try a.hear(mirror.said[0])
        #expect(a.refusal(of: a.said[1]) == .proof)
        var b = Self.called()
        #expect(b.refusal(of: b.said[0]) == .identity)
        // Of one without data nobody knows who it is.
        var question = End(.newcomer(Names.node("n")), isCaller: true, nonce: 5, keys: Self.keys(1))
        #expect(question.refusal(of: question.said[0]) == .malformed)
    }

    @Test func `who stands between two nodes can't pass their proofs on where there is TLS`() throws {
        // Each node has TLS with the one between, and the two connections have nothing in common.
        var (a, b) = (Self.caller(binding: [1]), Self.called(binding: [2]))
        try b.hear(a.said[0])
        try a.hear(b.said[0])
        #expect(b.refusal(of: a.said[1]) == .proof)
    }

    @Test func `a hello that was changed on its way is not proved`() throws {
        let changes: [(inout LinkHello) -> Void] = [
            { $0.store = 8 }, { $0.boot = 7 }, { $0.newestVersion += 1 }, { $0.nonce = Self.nonce(9) },
        ]
        for change in changes {
            var (a, b) = (Self.caller(), Self.called())
            guard case .hello(var hello) = try LinkControl(a.said[0].payload) else {
                Issue.record("no hello")
                continue
            }
            change(&hello)
            try b.hear(LinkControl.hello(hello).frame)
            try a.hear(b.said[0])
            #expect(b.refusal(of: a.said[1]) == .proof)
        }
    }

    @Test func `truncated, lengthened and oversize proofs are refused`() throws {
        var (a, b) = (Self.caller(), Self.called())
        try b.hear(a.said[0])
        try a.hear(b.said[0])
        guard case .proof(let proof) = try LinkControl(a.said[1].payload) else {
            Issue.record("no proof")
            return
        }
        for length in 1..<proof.count {
            var fresh = b
            #expect(fresh.refusal(of: LinkControl.proof(Array(proof.prefix(length))).frame) == .proof)
        }
        var fresh = b
        #expect(fresh.refusal(of: LinkControl.proof(proof + [0]).frame) == .proof)
        #expect(fresh.refusal(of: LinkControl.proof([]).frame) == .proof)
        let oversize = [UInt8](repeating: 0, count: LinkKeys.proofBytesMax + 1)
        #expect(fresh.refusal(of: LinkControl.proof(oversize).frame) == .malformed)
        for length in 0..<a.said[1].payload.count {
            #expect(throws: LinkError.self) { try LinkControl(Array(a.said[1].payload.prefix(length))) }
        }
        try b.hear(a.said[1])
        #expect(b.other != nil)
    }

    @Test func `nothing comes twice or before its turn, and a nonce has its length`() throws {
        var (a, b) = (Self.caller(), Self.called())
        #expect(b.refusal(of: LinkControl.proof([1]).frame) == .malformed)
        try b.hear(a.said[0])
        var twice = b
        #expect(twice.refusal(of: a.said[0]) == .malformed)
        try a.hear(b.said[0])
        try b.hear(a.said[1])
        #expect(b.refusal(of: a.said[1]) == .malformed)
        for nonce in [[], [UInt8](repeating: 1, count: 31)] {
            var hello = Self.hello("a")
            hello.nonce = nonce
            var fresh = Self.called()
            #expect(fresh.refusal(of: LinkControl.hello(hello).frame) == .malformed)
        }
    }

    @Test func `a version before the oldest is refused, and so is one behind the newest`() throws {
        for versions in [1...LinkHello.versions.lowerBound - 1, LinkHello.versions.upperBound + 1...99] {
            var other = LinkHello(cluster: "c", node: Names.node("a"), store: 9, boot: 1, shards: 16)
            (other.oldestVersion, other.newestVersion) = (versions.lowerBound, versions.upperBound)
            var b = Self.called()
            #expect(b.refusal(of: LinkControl.hello(other).frame) == .version)
        }
    }

    @Test func `who belongs to another cluster is told so before it proves anything`() throws {
        var (b, a) = (Self.called(), End(Self.hello("a", cluster: "d"), calls: "b", nonce: 1, keys: Self.keys(1)))
        #expect(b.refusal(of: a.said[0]) == .cluster)
        #expect(a.refusal(of: b.said[0]) == .cluster)
    }

    @Test func `a node without data proves itself, and so does who answers it`() throws {
        for (ofCaller, ofCalled) in [(1, 1), (1, 2), (2, 1)] as [(UInt64, UInt64)] {
            let hello = LinkHello.newcomer(Names.node("n"))
            var question = End(hello, isCaller: true, nonce: 1, keys: Self.keys(ofCaller))
            var b = Self.called(Self.keys(ofCalled))
            try b.hear(question.said[0])
            try question.hear(b.said[0])
            #expect(question.other == nil)
            guard ofCaller == ofCalled else {
                #expect(b.refusal(of: question.said[1]) == .proof)
                continue
            }
            try b.hear(question.said[1])
            #expect(b.other?.isNewcomer == true)
            try question.hear(b.said[1])
            #expect(question.other?.cluster == "c")
        }
    }
}
