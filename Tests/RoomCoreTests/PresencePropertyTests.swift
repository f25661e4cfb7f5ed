import ChatModel
import Testing

@testable import RoomCore

/// Random comings and goings against a plain list of sessions.
@Suite struct PresencePropertyTests {
    private struct Session {
        var visitor: Visitor
        var isFixed: Bool
        /// When the user's stay began.
        var since: Timestamp
    }

    @Test(arguments: Seed.seeds(8))
    func `presence is a list of sessions`(seed: UInt64) throws {
        var random = Seed(seed)
        var policy = RoomPolicy()
        policy.conflictPolicy = ConflictPolicy.allCases.randomElement(using: &random) ?? .allow
        policy.digestAboveOnline = 20
        var presence = Presence(policy: policy)
        var naive: [Session] = []
        var now = Timestamp(1_700_000_000_000)
        // Another replica is told of the sessions of one node, and of those that can't be reached.
        let replicated = try #require(NodeID("n1"))
        var replica: [SessionID: Visitor] = [:]
        var lost: Set<PresenceKey> = []
        presence.replicate(replicated)
        for step in 0..<800 {
            let comment: Comment = "SEED=\(seed) step \(step)"
            let name = user("u\(Int.random(in: 0..<40, using: &random))")
            if Bool.random(using: &random), let key = naive.randomElement(using: &random)?.visitor.key {
                if lost.remove(key) != nil {
                    presence.setReached(key)
                } else {
                    presence.setLost(key)
                    lost.insert(key)
                }
            }
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                try enter(name, step, &presence, &naive, policy.conflictPolicy, now, &random, comment)
            case 5..<7:
                guard let gone = naive.randomElement(using: &random)?.visitor else { continue }
                naive.removeAll { $0.visitor.key == gone.key }
                let left = !naive.contains { $0.visitor.user == gone.user }
                let effects = presence.exit(gone.key, notify: .all, at: now)
                let departed = effects.contains {
                    if case .departed(let name) = $0 { name.user == gone.user } else { false }
                }
                #expect(departed == left, comment)
            case 7 where !naive.isEmpty:
                // To another node, in the same place.
                let index = Int.random(in: naive.indices, using: &random)
                let old = naive[index].visitor.key
                let new = PresenceKey(node: try #require(NodeID("m\(step)")), session: old.session)
                let lane = Int.random(in: 0..<2, using: &random)
                naive[index].visitor.key = new
                naive[index].visitor.laneNumber = lane
                presence.move(old, to: new, lane: lane, encoding: .protobuf)
                #expect(presence.visitor(old) == nil && presence.visitor(new)?.laneNumber == lane, comment)
            case 8:
                let gone = presence.kick(user: name).map(\.key)
                #expect(gone == naive.filter { $0.visitor.user == name }.map(\.visitor.key), comment)
                naive.removeAll { $0.visitor.user == name }
            default:
                let isFixed = Bool.random(using: &random)
                presence.setRole(name, isFixed ? .normal : .guest)
                for index in naive.indices where naive[index].visitor.user == name { naive[index].isFixed = isFixed }
            }
            if Bool.random(using: &random) { now = now.adding(milliseconds: 7) }
            try compare(presence, naive, &random, comment)
            if Int.random(in: 0..<100, using: &random) == 0 {
                // Told from the beginning, before changes that it knows by then.
                replica = [:]
                for key in presence.replicatedSessions() { replica[key.session] = presence.replicated(key) }
            }
            for change in presence.takeChanges(max: Int.random(in: 0..<4, using: &random)) { replica.take(change) }
            lost.formIntersection(naive.map(\.visitor.key))
            if presence.hasChanges { continue }
            let there = naive.lazy.map(\.visitor.key).filter { $0.node == replicated || lost.contains($0) }
            #expect(Set(replica.keys) == Set(there.map(\.session)), comment)
            for visitor in replica.values { #expect(visitor == presence.visitor(visitor.key), comment) }
        }
    }

    private func enter(
        _ name: UserID, _ step: Int, _ presence: inout Presence, _ naive: inout [Session], _ policy: ConflictPolicy,
        _ now: Timestamp, _ random: inout Seed, _ comment: Comment
    ) throws {
        let node = try #require(NodeID("n\(Int.random(in: 0..<3, using: &random))"))
        let session = try #require(SessionID("s\(step)"))
        var visitor = Visitor(
            key: PresenceKey(node: node, session: session), laneNumber: Int.random(in: 0..<2, using: &random),
            user: name, profile: Profile(nick: "\(step)"), anonymous: false,
            device: Device.allCases.randomElement(using: &random) ?? .web, enteredAt: now)
        visitor.notifyExt = Bool.random(using: &random) ? "x" : nil
        let older = naive.filter { $0.visitor.user == name }
        let classes: [Device: Int] = [.mobile: 0, .web: 1, .desktop: 1, .server: 2]
        let conflicting = older.filter {
            switch policy {
            case .kickOlder, .rejectNewer: true
            case .perDevice:
                visitor.device != .server && classes[$0.visitor.device] == classes[visitor.device]
            case .allow: false
            }
        }
        let role: Role = older.first?.isFixed ?? Bool.random(using: &random) ? .normal : .guest
        if policy == .rejectNewer, !conflicting.isEmpty {
            #expect(throws: ChatError.self, comment) {
                try presence.enter(visitor, role: role, notify: .all, at: now)
            }
            return
        }
        let effects = try presence.enter(visitor, role: role, notify: .all, at: now)
        let kicked = effects.compactMap { if case .kick(let visitor, _) = $0 { visitor.key } else { nil } }
        #expect(kicked == conflicting.map(\.visitor.key), comment)
        #expect(effects.contains(.arrived(name)) == older.isEmpty, comment)
        naive.removeAll { kicked.contains($0.visitor.key) }
        naive.append(Session(visitor: visitor, isFixed: role.isFixed, since: older.first?.since ?? now))
    }

    private func compare(_ presence: Presence, _ naive: [Session], _ random: inout Seed, _ comment: Comment) throws {
        let users = Set(naive.map(\.visitor.user))
        #expect(presence.online == users.count, comment)
        #expect(presence.sessionCount == naive.count, comment)
        #expect(presence.lanes == Set(naive.map(\.visitor.lane)).sorted(), comment)
        for name in users {
            let newest = naive.last { $0.visitor.user == name }?.visitor
            #expect(presence.profile(of: name) == newest?.profile, comment)
        }
        var byEntering: [UserID] = []
        // Who entered in one millisecond stands in the order of hashes.
        let sessions = naive.sorted {
            ($0.since, Presence.Place(enteredAt: $0.since, user: $0.visitor.user).hash)
                < ($1.since, Presence.Place(enteredAt: $1.since, user: $1.visitor.user).hash)
        }
        for session in sessions where !byEntering.contains(session.visitor.user) {
            byEntering.append(session.visitor.user)
        }
        let fixed = Set(naive.filter(\.isFixed).map(\.visitor.user))
        let limit = Int.random(in: 1...7, using: &random)
        let guests = byEntering.filter { !fixed.contains($0) }
        #expect(try all(presence, .temporaryReversed, limit) == guests, comment)
        #expect(try all(presence, .temporary, limit) == guests.reversed(), comment)
        #expect(try all(presence, .fixedOnline, limit) == byEntering.filter { fixed.contains($0) }, comment)
    }

    private func all(_ presence: Presence, _ kind: MemberKind, _ limit: Int) throws -> [UserID] {
        var users: [UserID] = []
        var cursor: String?
        repeat {
            let page = try presence.users(kind, after: cursor, limit: limit)
            users += page.items
            cursor = page.next
        } while cursor != nil
        return users
    }
}

extension [SessionID: Visitor] {
    mutating func take(_ change: PresenceChange) {
        switch change {
        case .here(let visitor): self[visitor.key.session] = visitor
        case .gone(let session): self[session] = nil
        case .emptied: self = [:]
        }
    }
}
