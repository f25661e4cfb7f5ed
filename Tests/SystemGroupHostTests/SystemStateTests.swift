import ChatModel
import Testing
import Wire

@testable import SystemGroupHost

extension SystemState {
    @discardableResult
    fileprivate mutating func apply(
        _ command: SystemCommand, at milliseconds: Int64, key: String? = nil, index: UInt64 = 1
    ) -> SystemResult {
        apply(SystemEntry(time: Timestamp(milliseconds), key: key, command: command), index: index).result
    }
}

private func user(_ name: String) throws -> UserID { try #require(UserID(name)) }

struct SystemStateTests {
    @Test func `a token issued at the time of the revocation is refused and one issued a millisecond later is not`()
        throws
    {
        var state = SystemState()
        let ann = try user("ann")
        #expect(!state.revocations.refuses(ann, issuedAt: Timestamp(5_000)))
        #expect(state.apply(.revoke(ann), at: 5_000) == .revoked(at: Timestamp(5_000)))
        #expect(state.revocations.refuses(ann, issuedAt: Timestamp(5_000)))
        #expect(!state.revocations.refuses(ann, issuedAt: Timestamp(5_001)))
        #expect(!state.revocations.refuses(try user("bob"), issuedAt: Timestamp(1)))
    }

    @Test func `a token without a time of issue is refused once its user was revoked`() throws {
        var state = SystemState()
        let ann = try user("ann")
        #expect(!state.revocations.refuses(ann, issuedAt: nil))
        state.apply(.revoke(ann), at: 5_000)
        #expect(state.revocations.refuses(ann, issuedAt: nil))
        #expect(!state.revocations.refuses(try user("bob"), issuedAt: nil))
    }

    @Test func `what is issued within the millisecond of a revocation is later than it, and the next one later still`()
        throws
    {
        var state = SystemState()
        let ann = try user("ann")
        state.apply(.revoke(ann), at: 5_000)
        let issued = state.revocations.issueTime(for: ann, at: Timestamp(5_000))
        #expect(!state.revocations.refuses(ann, issuedAt: issued))
        state.apply(.revoke(ann), at: 5_000)
        #expect(state.revocations.refuses(ann, issuedAt: issued))
    }

    @Test func `a revocation that is forgotten at the bound leaves its time behind for everybody`() throws {
        var revocations = Revocations(usersMax: 2)
        let (ann, bob, cid) = (try user("ann"), try user("bob"), try user("cid"))
        _ = revocations.revoke(ann, at: Timestamp(100))
        _ = revocations.revoke(bob, at: Timestamp(200))
        #expect(revocations.floor == Timestamp(0))
        _ = revocations.revoke(cid, at: Timestamp(300))
        #expect(revocations.count == 2)
        #expect(revocations.floor == Timestamp(100))
        #expect(revocations.refuses(ann, issuedAt: Timestamp(100)))
        #expect(!revocations.refuses(ann, issuedAt: Timestamp(101)))
        #expect(revocations.refuses(try user("dan"), issuedAt: nil))
    }

    @Test func `revoking one user again and again takes no more room`() throws {
        var revocations = Revocations(usersMax: 3)
        let (ann, bob) = (try user("ann"), try user("bob"))
        _ = revocations.revoke(bob, at: Timestamp(1))
        for time in Int64(2)...100 { _ = revocations.revoke(ann, at: Timestamp(time)) }
        #expect(revocations.oldestFirst.map(\.user) == [bob, ann])
        #expect(revocations.floor == Timestamp(0))
    }

    @Test func `a repeated key gets the first result within ten minutes and changes nothing`() throws {
        var state = SystemState()
        let ann = try user("ann")
        #expect(state.apply(.revoke(ann), at: 1_000, key: "k") == .revoked(at: Timestamp(1_000)))
        #expect(state.apply(.revoke(ann), at: 600_999, key: "k") == .revoked(at: Timestamp(1_000)))
        #expect(!state.revocations.refuses(ann, issuedAt: Timestamp(1_001)))
        #expect(state.apply(.revoke(ann), at: 601_000, key: "k") == .revoked(at: Timestamp(601_000)))
    }

    @Test func `a claimed key is done once, then begun, then answered, and free again when it is given back`() {
        var state = SystemState()
        #expect(state.apply(.begin, at: 1, key: "a") == .done)
        #expect(state.apply(.begin, at: 2, key: "a") == .begun)
        state.apply(.finish(answer: [1, 2]), at: 3, key: "a")
        #expect(state.apply(.begin, at: 4, key: "a") == .answered([1, 2]))
        #expect(state.apply(.begin, at: 5, key: "b") == .done)
        state.apply(.finish(answer: nil), at: 6, key: "b")
        #expect(state.apply(.begin, at: 7, key: "b") == .done)
    }

    @Test func `a caller's key that looks like a node's own is a key like others`() {
        var state = SystemState()
        let key = CallLedger.nodePrefix + "1"
        #expect(state.apply(.begin, at: 1, key: key) == .done)
        #expect(state.apply(.begin, at: 2, key: key) == .begun)
        #expect(state.apply(.finish(answer: [1]), at: 3, key: key) == .done)
        state = SystemState(restoring: state.snapshot(appliedIndex: 3))
        #expect(state.apply(.begin, at: 4, key: key) == .answered([1]))
    }

    @Test func `of more calls than are remembered the oldest is forgotten`() {
        var state = SystemState()
        for number in 0..<CallLedger.callsMaxDefault { state.apply(.begin, at: 1, key: "\(number)") }
        #expect(state.apply(.begin, at: 1, key: "0") == .begun)
        #expect(state.apply(.begin, at: 1, key: "one more") == .done)
        #expect(state.apply(.begin, at: 1, key: "1") == .begun)
        #expect(state.apply(.begin, at: 1, key: "0") == .done)
    }

    @Test func `a nonce works once within ten minutes, also over a snapshot`() {
        var state = SystemState()
        #expect(state.apply(.nonce, at: 1_000, key: "k\nn") == .done)
        #expect(state.apply(.nonce, at: 1_000, key: "k\nm") == .done)
        state = SystemState(restoring: state.snapshot(appliedIndex: 2))
        #expect(state.apply(.nonce, at: 600_999, key: "k\nn") == .begun)
        #expect(state.apply(.nonce, at: 601_000, key: "k\nn") == .done)
    }

    @Test func `at the bound a nonce is refused instead of one being forgotten`() {
        var state = SystemState()
        for number in 0..<SystemState.noncesMax { state.apply(.nonce, at: 1, key: "\(number)") }
        guard case .refused(let error) = state.apply(.nonce, at: 1, key: "one more") else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == .unavailable)
        #expect(state.apply(.nonce, at: 1, key: "0") == .begun)
    }

    @Test func `a setting has the version of its entry and may have exactly its bound of bytes`() {
        var state = SystemState()
        let full = [UInt8](repeating: 7, count: SystemState.settingBytesMax)
        #expect(state.apply(.put(setting: .webhook, value: full), at: 1, index: 9) == .done)
        #expect(state.settings[.webhook] == Setting(value: full, version: 9))
        guard case .refused(let error) = state.apply(.put(setting: .webhook, value: full + [7]), at: 2, index: 10)
        else {
            Issue.record("not refused")
            return
        }
        #expect(error.code == .tooLarge)
        #expect(state.settings[.webhook]?.version == 9)
        state.apply(.put(setting: .webhook, value: nil), at: 3)
        #expect(state.settings[.webhook] == nil)
    }

    @Test func `a cluster is created once`() throws {
        var state = SystemState()
        let node = try #require(NodeID("n1"))
        state.apply(.createCluster(id: "first", shardCount: 16, node: node, store: .max, level: .first), at: 0)
        state.apply(.createCluster(id: "second", shardCount: 8, node: node, store: 1, level: .first), at: 0)
        #expect(state.cluster == ClusterIdentity(id: "first", shardCount: 16))
        #expect(state.nodes == [NodeRecord(node: node, store: .max)])
    }

    @Test func `a ban holds until its end, is lifted by none left, and is owed to the webhook`() throws {
        var state = SystemState()
        let (ann, bob) = (try user("ann"), try user("bob"))
        func sanction(_ user: UserID, _ kind: SanctionKind, _ seconds: Int64?, owes: Bool = true) -> SystemCommand {
            .sanction(user, kind, seconds: seconds, reason: "spam", owes: owes)
        }
        #expect(state.apply(sanction(ann, .banned, 60), at: 1_000, key: "k", index: 5) == .done)
        let ban = UserSanction(since: Timestamp(1_000), endsAt: Timestamp(61_000), reason: "spam")
        #expect(state.sanctions.sanction(.banned, of: ann, at: Timestamp(60_999)) == ban)
        #expect(state.sanctions.sanction(.banned, of: ann, at: Timestamp(61_000)) == nil)
        #expect(state.sanctions.sanction(.muted, of: ann, at: Timestamp(2_000)) == nil)
        #expect(state.apply(sanction(bob, .muted, nil, owes: false), at: 2_000, index: 6) == .done)
        #expect(state.sanctions.sanction(.muted, of: bob, at: Timestamp(.max))?.endsAt == nil)
        // A repeat changes nothing, and what is not there is not lifted.
        state.apply(sanction(ann, .banned, 0), at: 3_000, key: "k", index: 7)
        #expect(state.sanctions.sanction(.banned, of: ann, at: Timestamp(3_000)) == ban)
        state.apply(sanction(bob, .banned, 0), at: 4_000, index: 8)
        state.apply(sanction(ann, .banned, 0), at: 5_000, index: 9)
        #expect(state.sanctions.sanction(.banned, of: ann, at: Timestamp(5_000)) == nil)
        #expect(state.owedSanctions.map(\.index) == [5, 9] && state.owedSanctions.map(\.sanction) == [ban, nil])
        let restored = SystemState(restoring: state.snapshot(appliedIndex: 9))
        #expect(restored.sanctions == state.sanctions && restored.owedSanctions == state.owedSanctions)
        #expect(SystemState().changes(since: state).contains(.sanctioned(bob, .muted, nil)))
        #expect(state.changes(since: SystemState()) == [.sanctioned(bob, .muted, state.sanctions[.muted][bob])])
        state.apply(.sanctionsTold(through: 5), at: 6_000, index: 10)
        #expect(state.owedSanctions.map(\.index) == [9])
    }

    @Test func `beyond the bound a further user is 409, unless one that has ended makes place`() throws {
        var sanctions = Sanctions(usersMax: 2)
        let now = Timestamp(1_000)
        let users = try ["ann", "bob", "cid", "dan"].map { try user($0) }
        try sanctions.set(.banned, of: users[0], to: UserSanction(since: now, endsAt: Timestamp(2_000)), at: now)
        try sanctions.set(.banned, of: users[1], to: UserSanction(since: now), at: now)
        #expect(throws: ChatError.self) {
            try sanctions.set(.banned, of: users[2], to: UserSanction(since: now), at: now)
        }
        try sanctions.set(.muted, of: users[2], to: UserSanction(since: now), at: now)
        try sanctions.set(.banned, of: users[1], to: UserSanction(since: now, reason: "again"), at: now)
        try sanctions.set(.banned, of: users[2], to: UserSanction(since: now), at: Timestamp(2_000))
        #expect(sanctions[.banned].count == 2 && sanctions[.banned][users[0]] == nil)
        let page = sanctions.page(.banned, after: nil, limit: 1, at: Timestamp(2_000))
        #expect(page.items.map(\.user) == [users[1]] && page.next == users[1])
        let last = sanctions.page(.banned, after: page.next, limit: 1, at: Timestamp(2_000))
        #expect(last.items.map(\.user) == [users[2]] && last.next == nil)
    }

    @Test func `what is owed to the webhook is bounded, and what is forgotten is counted`() throws {
        var state = SystemState()
        let ann = try user("ann")
        for index in 1...UInt64(SystemState.owedSanctionsMax + 3) {
            state.apply(
                .sanction(ann, .muted, seconds: 60, reason: nil, owes: true), at: Int64(index), index: index)
        }
        #expect(state.owedSanctions.count == SystemState.owedSanctionsMax && state.forgottenSanctions == 3)
        #expect(state.owedSanctions.first?.index == 4)
    }

    @Test func `a snapshot restores everything`() throws {
        var state = SystemState()
        let (ann, bob) = (try user("ann"), try user("bob"))
        let node = try #require(NodeID("n1"))
        state.apply(.createCluster(id: "c", shardCount: 16, node: node, store: .max, level: .first), at: 0)
        state.apply(.revoke(ann), at: 10, key: "revoke")
        state.apply(.revoke(bob), at: 20)
        state.apply(.put(setting: .moderation, value: []), at: 30, key: "put", index: 4)
        state.apply(.begin, at: 40, key: "begun")
        state.apply(.begin, at: 50, key: "answered")
        state.apply(.finish(answer: [1]), at: 60, key: "answered")
        let snapshot = state.snapshot(appliedIndex: 7)
        let read = try SystemCodec.decodeSnapshot(SystemCodec.encode(snapshot), own: .newest)
        #expect(read == snapshot)
        #expect(read.appliedIndex == 7)
        var restored = SystemState(restoring: read)
        #expect(restored.snapshot(appliedIndex: 7) == snapshot)
        #expect(restored.revocations.refuses(ann, issuedAt: Timestamp(10)))
        #expect(restored.settings[.moderation] == Setting(value: [], version: 4))
        #expect(restored.apply(.revoke(ann), at: 70, key: "revoke") == .revoked(at: Timestamp(10)))
        #expect(restored.apply(.put(setting: .moderation, value: nil), at: 70, key: "put") == .done)
        #expect(restored.settings[.moderation] != nil)
        #expect(restored.apply(.begin, at: 70, key: "begun") == .begun)
        #expect(restored.apply(.begin, at: 70, key: "answered") == .answered([1]))
    }
}
