import ChatModel
import Testing

@testable import Swim

/// One node's dialogue with others, event by event.
@Suite struct MembershipTests {
    private static let a = GossipSimulation.id(1)
    private static let b = GossipSimulation.id(2)
    private static let c = GossipSimulation.id(3)
    private static let d = GossipSimulation.id(4)

    private static func member(_ node: NodeID, load: UInt16 = 0) -> GossipMember {
        GossipMember(node: node, store: 1, gossipAddress: GossipSimulation.address(node), load: load)
    }

    /// `a` as the only one that it knows of, and the others it has heard of.
    private static func make(knowing others: [NodeID] = []) -> GossipMembership {
        var a = GossipMembership(member(Self.a), incarnation: 5, now: .zero, randomSeed: 1)
        for other in others { a.receive([.alive(incarnation: 5, member(other))], from: address(other), now: .zero) }
        _ = a.takeEffects()
        // What it has to tell about them is told.
        for _ in 0..<40 { _ = a.queue.take(bytesMax: 1_340, limit: 1) }
        return a
    }

    private static func address(_ node: NodeID) -> GossipAddress { GossipSimulation.address(node) }

    private static func sent(_ effects: [GossipEffect], to node: NodeID) -> [GossipMessage] {
        effects.flatMap { effect in
            if case .send(let messages, address(node)) = effect { return messages }
            return []
        }
    }

    private static func notices(_ effects: [GossipEffect]) -> [GossipNotification] {
        effects.compactMap { if case .notify(let what) = $0 { what } else { nil } }
    }

    /// Ticks until there is a ping, and returns it.
    private static func nextPing(_ a: inout GossipMembership, _ now: inout Duration) throws -> (UInt32, NodeID) {
        for _ in 0..<1_000 {
            now += .milliseconds(10)
            a.tick(now: now)
            for case .send(let messages, _) in a.takeEffects() {
                if case .ping(let sequence, let target) = messages.first { return (sequence, target) }
            }
        }
        throw NoPing()
    }

    private struct NoPing: Error {}

    // MARK: - Pings

    @Test func `a ping is answered by the node that it is for, and by no other`() {
        var a = Self.make()
        a.receive([.ping(sequence: 7, target: Self.a)], from: Self.address(Self.b), now: .zero)
        #expect(a.takeEffects() == [.send([.ack(sequence: 7)], to: Self.address(Self.b))])
        a.receive([.ping(sequence: 7, target: Self.c)], from: Self.address(Self.b), now: .zero)
        #expect(a.takeEffects() == [])
    }

    @Test func `who does not answer is pinged through others, then suspected, then dead`() throws {
        var a = Self.make(knowing: [Self.b, Self.c, Self.d])
        var now = Duration.zero
        let (sequence, target) = try Self.nextPing(&a, &now)
        let helpers = [Self.b, Self.c, Self.d].filter { $0 != target }
        now += .milliseconds(299)
        a.tick(now: now)
        let early = a.takeEffects()
        #expect(helpers.allSatisfy { Self.sent(early, to: $0).isEmpty })
        now += .milliseconds(1)
        a.tick(now: now)
        let asked = a.takeEffects()
        for helper in helpers {
            #expect(Self.sent(asked, to: helper).contains(.pingRequest(sequence: sequence, target: target)))
            a.receive([.nack(sequence: sequence)], from: Self.address(helper), now: now)
        }
        now += .milliseconds(299)
        a.tick(now: now)
        #expect(a.members[target]?.record.status == .alive)
        now += .milliseconds(1)
        a.tick(now: now)
        #expect(a.members[target]?.record.status == .suspect)
        // Both helpers live, so the fault is not here.
        #expect(a.healthScore == 0)
        // It is still listed: suspicion is not death.
        #expect(a.alive.map(\.node).contains(target))
        for helper in helpers {
            a.receive([.suspect(incarnation: 5, target, by: helper)], from: Self.address(helper), now: now)
        }
        _ = a.takeEffects()
        // Confirmed by two: the shortest time for four members is two periods.
        let end = now + .seconds(2)
        var askedAt: Duration?
        var failed: Duration?
        while now < end + .seconds(1), failed == nil {
            now += .milliseconds(10)
            a.tick(now: now)
            let effects = a.takeEffects()
            if effects.contains(.pushPull(with: Self.address(target))) { askedAt = askedAt ?? now }
            if Self.notices(effects).contains(.failed(target)) { failed = now }
        }
        // Before it is declared dead it is asked over TCP.
        #expect(askedAt.map { $0 >= end - .seconds(1) && $0 <= end - .milliseconds(980) } == true)
        #expect(failed.map { $0 >= end && $0 <= end + .milliseconds(20) } == true, "\(String(describing: failed))")
        #expect(!a.alive.map(\.node).contains(target))
    }

    @Test func `an answer through a helper counts, and helpers that are silent make the node doubt itself`() throws {
        var a = Self.make(knowing: [Self.b, Self.c, Self.d])
        var now = Duration.zero
        var (sequence, target) = try Self.nextPing(&a, &now)
        now += .milliseconds(300)
        a.tick(now: now)
        let helper = try #require([Self.b, Self.c].first { $0 != target })
        a.receive([.ack(sequence: sequence)], from: Self.address(helper), now: now)
        now += .milliseconds(300)
        a.tick(now: now)
        #expect(a.members[target]?.record.status == .alive)
        #expect(a.healthScore == 0)
        (sequence, target) = try Self.nextPing(&a, &now)
        now += .milliseconds(300)
        a.tick(now: now)
        now += .milliseconds(300)
        a.tick(now: now)
        #expect(a.members[target]?.record.status == .suspect)
        #expect(a.healthScore == 2)
        // Its next probe waits three times as long, and the one after it begins so much later.
        (sequence, target) = try Self.nextPing(&a, &now)
        #expect(a.nextProbe - now == .seconds(3))
        #expect(a.probe.map { $0.deadline - now } == .milliseconds(3 * 600))
    }

    @Test func `a helper pings for others, passes the answer on, and says in time that there is none`() {
        var a = Self.make(knowing: [Self.b, Self.c])
        a.receive([.pingRequest(sequence: 9, target: Self.c)], from: Self.address(Self.b), now: .zero)
        guard case .ping(let own, Self.c) = Self.sent(a.takeEffects(), to: Self.c).first else {
            Issue.record("no ping")
            return
        }
        a.tick(now: .milliseconds(209))
        #expect(Self.sent(a.takeEffects(), to: Self.b).isEmpty)
        a.tick(now: .milliseconds(210))
        #expect(Self.sent(a.takeEffects(), to: Self.b).first == .nack(sequence: 9))
        a.receive([.ack(sequence: own)], from: Self.address(Self.c), now: .milliseconds(250))
        #expect(Self.sent(a.takeEffects(), to: Self.b).first == .ack(sequence: 9))
        // Once.
        a.receive([.ack(sequence: own)], from: Self.address(Self.c), now: .milliseconds(460))
        #expect(a.takeEffects().isEmpty)
        // Nobody is pinged whom it does not know, and no more than the bound at a time.
        a.receive([.pingRequest(sequence: 9, target: Self.d)], from: Self.address(Self.b), now: .seconds(2))
        #expect(a.takeEffects().isEmpty)
        for sequence in 0..<65 as Range<UInt32> {
            a.receive([.pingRequest(sequence: sequence, target: Self.c)], from: Self.address(Self.b), now: .seconds(2))
        }
        #expect(a.takeEffects().count == 64)
        a.tick(now: .seconds(4))
        #expect(a.relays.isEmpty)
    }

    @Test func `a suspected member is told so with its next ping`() throws {
        var a = Self.make(knowing: [Self.b])
        a.receive([.suspect(incarnation: 5, Self.b, by: Self.c)], from: Self.address(Self.c), now: .zero)
        for _ in 0..<40 { _ = a.queue.take(bytesMax: 1_340, limit: 1) }
        var now = Duration.zero
        while now < .seconds(2) {
            now += .milliseconds(10)
            a.tick(now: now)
            let messages = Self.sent(a.takeEffects(), to: Self.b)
            guard case .ping = messages.first else { continue }
            #expect(messages.contains(.suspect(incarnation: 5, Self.b, by: Self.a)))
            return
        }
        Issue.record("no ping")
    }

    // MARK: - News

    @Test func `what overrides what`() {
        typealias Status = GossipRecord.Status
        let b = Self.b
        /// News at incarnation 5 + offset on a member known with status at incarnation 5.
        func outcome(_ start: [GossipMessage], _ news: GossipMessage) -> (Status?, UInt64?) {
            var a = Self.make(knowing: [b, Self.c, Self.d])
            a.receive(start + [news], from: Self.address(Self.c), now: .zero)
            return (a.members[b]?.record.status, a.members[b]?.record.incarnation)
        }
        let suspect = GossipMessage.suspect(incarnation: 5, b, by: Self.c)
        let dead = GossipMessage.dead(incarnation: 5, b, by: Self.c)
        let left = GossipMessage.dead(incarnation: 5, b, by: b)
        for (start, news, expected) in [
            ([], .alive(incarnation: 5, Self.member(b, load: 9)), (.alive, 5)),
            ([], .suspect(incarnation: 4, b, by: Self.c), (.alive, 5)),
            ([], suspect, (.suspect, 5)),
            ([], .suspect(incarnation: 6, b, by: Self.c), (.suspect, 6)),
            ([], .dead(incarnation: 4, b, by: Self.c), (.alive, 5)),
            ([], dead, (.dead, 5)),
            ([], left, (.left, 5)),
            ([suspect], .alive(incarnation: 5, Self.member(b)), (.suspect, 5)),
            ([suspect], .alive(incarnation: 6, Self.member(b)), (.alive, 6)),
            ([suspect], dead, (.dead, 5)),
            ([suspect], .suspect(incarnation: 6, b, by: Self.d), (.suspect, 6)),
            (
                [suspect, .suspect(incarnation: 6, b, by: Self.d)], .alive(incarnation: 6, Self.member(b)),
                (.suspect, 6)
            ),
            ([dead, .dead(incarnation: 7, b, by: Self.c)], .alive(incarnation: 6, Self.member(b)), (.dead, 7)),
            ([dead], .alive(incarnation: 5, Self.member(b)), (.dead, 5)),
            ([dead], suspect, (.dead, 5)),
            ([dead], .alive(incarnation: 6, Self.member(b)), (.alive, 6)),
            ([dead], left, (.left, 5)),
            ([left], dead, (.left, 5)),
        ] as [([GossipMessage], GossipMessage, (Status, UInt64))] {
            #expect(outcome(start, news) == expected, "\(start) then \(news)")
        }
    }

    @Test func `who is suspected or told dead refutes with a higher incarnation`() {
        for accusation in [
            GossipMessage.suspect(incarnation: 5, Self.a, by: Self.b), .dead(incarnation: 8, Self.a, by: Self.b),
            .alive(incarnation: 6, Self.member(Self.a, load: 3)),
        ] {
            var a = Self.make(knowing: [Self.b])
            a.receive([accusation, .ping(sequence: 1, target: Self.a)], from: Self.address(Self.b), now: .zero)
            let refutation = Self.sent(a.takeEffects(), to: Self.b).last
            guard case .alive(let incarnation, Self.member(Self.a)) = refutation else {
                Issue.record("\(accusation): \(String(describing: refutation))")
                continue
            }
            #expect(incarnation == [6, 9, 7].first { $0 == incarnation })
            #expect(a.records[0].incarnation == incarnation)
        }
        // An accusation of a former life is nothing.
        var a = Self.make(knowing: [Self.b])
        a.receive([.suspect(incarnation: 4, Self.a, by: Self.b)], from: Self.address(Self.b), now: .zero)
        #expect(a.records[0].incarnation == 5)
        #expect(a.healthScore == 0)
        // The highest that a packet can name does not overflow.
        a.receive([.dead(incarnation: 1 << 62, Self.a, by: Self.b)], from: Self.address(Self.b), now: .zero)
        #expect(a.records[0].incarnation == 1 << 62)
    }

    @Test func `the answer to a ping that brings a suspicion carries the refutation`() {
        var a = Self.make(knowing: [Self.b])
        a.receive(
            [.ping(sequence: 1, target: Self.a), .suspect(incarnation: 5, Self.a, by: Self.b)],
            from: Self.address(Self.b), now: .zero)
        #expect(
            Self.sent(a.takeEffects(), to: Self.b) == [
                .ack(sequence: 1), .alive(incarnation: 6, Self.member(Self.a)),
            ])
    }

    @Test func `a suspicion of a later incarnation has its own time, and who refutes ends it`() {
        var a = Self.make(knowing: [Self.b, Self.c, Self.d])
        a.receive([.suspect(incarnation: 5, Self.b, by: Self.c)], from: Self.address(Self.c), now: .zero)
        #expect(Self.notices(a.takeEffects()) == [.suspected(Self.b)])
        let first = a.suspicions[Self.b]?.deadline
        a.receive([.suspect(incarnation: 6, Self.b, by: Self.d)], from: Self.address(Self.d), now: .seconds(3))
        #expect(Self.notices(a.takeEffects()) == [])
        #expect(a.suspicions[Self.b]?.deadline == first.map { $0 + .seconds(3) })
        a.receive([.alive(incarnation: 7, Self.member(Self.b))], from: Self.address(Self.c), now: .seconds(4))
        #expect(Self.notices(a.takeEffects()) == [.refuted(Self.b)])
        #expect(a.suspicions.isEmpty)
    }

    @Test func `a node that was stalled asks before it declares anybody dead`() {
        var a = Self.make(knowing: [Self.b, Self.c, Self.d])
        a.receive([.suspect(incarnation: 5, Self.b, by: Self.c)], from: Self.address(Self.c), now: .zero)
        _ = a.takeEffects()
        a.tick(now: .seconds(600))
        let effects = a.takeEffects()
        #expect(effects.contains(.pushPull(with: Self.address(Self.b))))
        #expect(!Self.notices(effects).contains(.failed(Self.b)))
        a.tick(now: .milliseconds(600_299))
        #expect(Self.notices(a.takeEffects()) == [])
        a.tick(now: .milliseconds(600_300))
        #expect(Self.notices(a.takeEffects()) == [.failed(Self.b)])
    }

    @Test func `time in which the process did not run is no evidence against anybody`() throws {
        var a = Self.make(knowing: [Self.b, Self.c, Self.d])
        var now = Duration.zero
        let (_, target) = try Self.nextPing(&a, &now)
        let suspected = try #require([Self.b, Self.c, Self.d].first { $0 != target })
        a.receive([.suspect(incarnation: 5, suspected, by: target)], from: Self.address(target), now: now)
        let deadline = try #require(a.suspicions[suspected]?.deadline)
        a.clockJumped(by: .seconds(600))
        now += .seconds(600)
        // The probe that was under way goes on, and so does the suspicion.
        a.tick(now: now)
        #expect(a.members[target]?.record.status == .alive)
        #expect(a.suspicions[suspected]?.deadline == deadline + .seconds(600) + .milliseconds(300))
        #expect(a.members[suspected]?.record.status == .suspect)
        #expect(a.healthScore == 1)
        #expect(a.suspicions[suspected]?.hasAsked == false)
    }

    @Test func `who may be gone is pinged at once, and if it answers nothing has happened`() throws {
        var a = Self.make(knowing: [Self.b, Self.c, Self.d])
        a.onNodeLost(Self.c, now: .milliseconds(1))
        guard case .ping(let sequence, Self.c) = Self.sent(a.takeEffects(), to: Self.c).first else {
            Issue.record("no ping")
            return
        }
        // Once more while it waits, somebody else, and who is not known.
        a.onNodeLost(Self.c, now: .milliseconds(2))
        a.onNodeLost(Self.d, now: .milliseconds(2))
        a.onNodeLost(Self.a, now: .milliseconds(2))
        #expect(a.takeEffects().isEmpty)
        a.receive([.ack(sequence: sequence)], from: Self.address(Self.c), now: .milliseconds(9))
        let next = a.takeEffects()
        guard case .ping(_, Self.d) = Self.sent(next, to: Self.d).first else {
            Issue.record("no ping")
            return
        }
        #expect(Self.sent(next, to: Self.c).isEmpty)
        #expect(a.hinted.isEmpty)
        #expect(a.members[Self.c]?.record.status == .alive)
    }

    @Test func `whom somebody suspects is pinged at once, to confirm it or to let it refute`() {
        var a = Self.make(knowing: [Self.b, Self.c, Self.d])
        a.receive([.suspect(incarnation: 5, Self.c, by: Self.b)], from: Self.address(Self.b), now: .milliseconds(1))
        let ping = Self.sent(a.takeEffects(), to: Self.c)
        #expect(ping.contains(.suspect(incarnation: 5, Self.c, by: Self.a)))
        // It waits longer than who has seen it, until it has seen it too.
        let heard = a.suspicions[Self.c]?.deadline
        a.tick(now: .milliseconds(301))
        a.tick(now: .milliseconds(601))
        #expect(a.suspicions[Self.c]?.isWitness == true)
        #expect(a.suspicions[Self.c].flatMap { seen in heard.map { $0 - seen.deadline > .seconds(2) } } == true)
    }

    @Test func `in a large cluster a few witnesses are enough`() {
        var pings = 0
        for seed in 0..<40 as Range<UInt64> {
            var a = GossipMembership(Self.member(Self.a), incarnation: 5, now: .zero, randomSeed: seed)
            let others = (0..<79).map { GossipSimulation.id(100 + $0) }
            for other in others {
                a.receive([.alive(incarnation: 1, Self.member(other))], from: Self.address(other), now: .zero)
            }
            _ = a.takeEffects()
            a.onNodeLost(others[7], now: .milliseconds(1))
            if !Self.sent(a.takeEffects(), to: others[7]).isEmpty { pings += 1 }
        }
        // 8 of 80, by chance.
        #expect((1...12).contains(pings), "\(pings)")
    }

    @Test func `every other probe goes to the next member by node ID that is not suspected`() throws {
        let others = [Self.b, Self.c, Self.d].map { ($0, Self.member($0)) }
        for (node, neighbour) in [(Self.a, Self.c), (Self.c, Self.d), (Self.d, Self.a)] {
            var membership = GossipMembership(Self.member(node), incarnation: 5, now: .zero, randomSeed: 3)
            for (other, member) in others + [(Self.a, Self.member(Self.a))] where other != node {
                membership.receive([.alive(incarnation: 5, member)], from: Self.address(other), now: .zero)
            }
            membership.receive([.suspect(incarnation: 5, Self.b, by: Self.d)], from: Self.address(Self.d), now: .zero)
            let (hinted, _) = (membership.probe?.target, membership.takeEffects())
            #expect(hinted == Self.b)
            membership.probe = nil
            var now = Duration.zero
            var targets: [NodeID] = []
            for _ in 0..<6 {
                let (sequence, target) = try Self.nextPing(&membership, &now)
                targets.append(target)
                membership.receive([.ack(sequence: sequence)], from: Self.address(target), now: now)
            }
            #expect(targets.enumerated().filter { $0.offset % 2 == 0 }.allSatisfy { $0.element == neighbour })
            #expect(Set(targets).count > 1)
        }
    }

    @Test func `who knew nobody does not pass on what it learns of those it learns of`() {
        var a = Self.make()
        a.merge(
            [Self.b, Self.c].map { GossipRecord(member: Self.member($0), incarnation: 5, status: .alive) }, now: .zero)
        #expect(a.queue.isEmpty)
        a.merge([GossipRecord(member: Self.member(Self.d), incarnation: 5, status: .alive)], now: .zero)
        #expect(a.queue.contains(Self.d))
    }

    @Test func `exchanges of everything come soon after the start, and seldom among many`() {
        var a = Self.make(knowing: [Self.b, Self.c])
        var now = Duration.zero
        var exchanges: [Duration] = []
        while now < .seconds(300) {
            now += .milliseconds(50)
            a.tick(now: now)
            for effect in a.takeEffects() {
                if case .pushPull = effect { exchanges.append(now) }
                if case .send(let messages, let address) = effect, case .ping(let sequence, _) = messages.first {
                    a.receive([.ack(sequence: sequence)], from: address, now: now)
                }
            }
        }
        #expect(exchanges.count { $0 < .seconds(10) } >= 2)
        #expect((8...20).contains(exchanges.count))
        let configuration = GossipConfiguration()
        #expect(
            [2, 32, 33, 64, 100, 1_000].map { configuration.pushPullInterval(members: $0) / .seconds(30) }
                == [1, 1, 2, 2, 3, 6])
    }

    @Test func `time changes nothing for a node that is alone, and each tick makes the next one later`() throws {
        var alone = GossipMembership(Self.member(Self.a), incarnation: 5, now: .zero, randomSeed: 1)
        #expect(alone.nextTick == nil)
        alone.join([Self.address(Self.b)])
        #expect(try #require(alone.nextTick) <= .seconds(10))
        alone.receive([.alive(incarnation: 5, Self.member(Self.b))], from: Self.address(Self.b), now: .zero)
        var now = Duration.zero
        for _ in 0..<1_000 {
            now = max(now, try #require(alone.nextTick))
            alone.tick(now: now)
            #expect(alone.nextTick.map { $0 > now } == true)
        }
    }

    @Test func `another process with the same node ID is told as a conflict`() {
        var a = Self.make()
        var other = Self.member(Self.a)
        other.store = 2
        a.receive([.alive(incarnation: 6, other)], from: Self.address(Self.b), now: .zero)
        #expect(Self.notices(a.takeEffects()) == [.conflict(other)])
    }

    @Test func `a death from push-pull is hearsay, a departure is not`() {
        var a = Self.make(knowing: [Self.b, Self.c])
        a.merge(
            [
                GossipRecord(member: Self.member(Self.b), incarnation: 5, status: .dead),
                GossipRecord(member: Self.member(Self.c), incarnation: 5, status: .left),
                GossipRecord(member: Self.member(Self.d), incarnation: 5, status: .dead),
            ], now: .zero)
        #expect(a.memberCounts == [.alive: 1, .suspect: 1, .left: 1])
        #expect(a.members[Self.b]?.record.status == .suspect)
        #expect(a.members[Self.c]?.record.status == .left)
        #expect(a.members[Self.d] == nil)
    }

    @Test func `members beyond the bound are not taken until one is dead`() {
        var configuration = GossipConfiguration()
        configuration.membersMax = 3
        var a = GossipMembership(
            Self.member(Self.a), incarnation: 5, configuration: configuration, now: .zero, randomSeed: 1)
        for other in [Self.b, Self.c, Self.d] {
            a.receive([.alive(incarnation: 1, Self.member(other))], from: Self.address(other), now: .zero)
        }
        #expect(a.alive.map(\.node) == [Self.a, Self.b, Self.c])
        a.receive([.dead(incarnation: 1, Self.b, by: Self.c)], from: Self.address(Self.c), now: .zero)
        a.receive([.alive(incarnation: 1, Self.member(Self.d))], from: Self.address(Self.d), now: .zero)
        #expect(a.alive.map(\.node) == [Self.a, Self.c, Self.d])
        #expect(a.members[Self.b] == nil)
    }

    @Test func `news is sent a logarithmic number of times, the freshest first, and replaced by what is newer`() {
        var queue = BroadcastQueue()
        queue.add(.suspect(incarnation: 1, Self.b, by: Self.a))
        queue.add(.dead(incarnation: 1, Self.b, by: Self.a))
        queue.add(.suspect(incarnation: 1, Self.c, by: Self.a))
        queue.add(.ping(sequence: 1, target: Self.d))
        #expect(queue.count == 2)
        let both = queue.take(bytesMax: 1_340, limit: 3)
        #expect(both == [.suspect(incarnation: 1, Self.c, by: Self.a), .dead(incarnation: 1, Self.b, by: Self.a)])
        #expect(queue.take(bytesMax: 8, limit: 3) == [.suspect(incarnation: 1, Self.c, by: Self.a)])
        #expect(queue.take(bytesMax: 8, limit: 3) == [.dead(incarnation: 1, Self.b, by: Self.a)])
        #expect(queue.take(bytesMax: 7, limit: 3) == [])
        #expect(queue.take(bytesMax: 1_340, limit: 3).count == 2)
        #expect(queue.isEmpty)
        let configuration = GossipConfiguration()
        #expect([1, 9, 10, 99, 100].map { configuration.retransmitLimit(members: $0) } == [8, 8, 8, 8, 12])
    }

    @Test func `suspicion is long at first and shrinks with each confirmation that counts`() {
        let configuration = GossipConfiguration()
        var suspicion = Suspicion(by: Self.b, isWitness: true, at: .seconds(10), members: 10, configuration)
        func isAbout(_ seconds: Double) -> Bool {
            abs((suspicion.deadline - .seconds(10)) / .seconds(1) - seconds) < 0.01
        }
        #expect(isAbout(6))
        let first = suspicion.confirm(by: Self.b)
        #expect(!first && isAbout(6))
        let second = suspicion.confirm(by: Self.c)
        // 6 - 4 * log(2) / log(3)
        #expect(second && isAbout(3.476))
        let third = suspicion.confirm(by: Self.d)
        #expect(third && isAbout(2))
        let fourth = suspicion.confirm(by: Self.a)
        #expect(!fourth && isAbout(2))
        // Nobody could confirm.
        suspicion = Suspicion(by: Self.b, isWitness: true, at: .seconds(10), members: 3, configuration)
        #expect(isAbout(2))
        // With ten times the members half as long again; who has it from others waits two periods more.
        suspicion = Suspicion(by: Self.b, isWitness: false, at: .seconds(10), members: 100, configuration)
        #expect(isAbout(11))
        suspicion.isWitness = true
        #expect(isAbout(9))
    }

    // MARK: - Leaving

    @Test func `a node alone leaves at once, others tell it first, and pings are answered to the end`() {
        var alone = Self.make()
        alone.leave(now: .zero)
        #expect(Self.notices(alone.takeEffects()) == [.leaveComplete])
        var a = Self.make(knowing: [Self.b, Self.c])
        a.leave(now: .zero)
        #expect(a.takeEffects().isEmpty)
        a.receive([.ping(sequence: 1, target: Self.a)], from: Self.address(Self.b), now: .zero)
        #expect(
            Self.sent(a.takeEffects(), to: Self.b) == [
                .ack(sequence: 1), .dead(incarnation: 5, Self.a, by: Self.a),
            ])
        var now = Duration.zero
        var notices: [GossipNotification] = []
        while now < .seconds(5), notices.isEmpty {
            now += .milliseconds(50)
            a.tick(now: now)
            notices = Self.notices(a.takeEffects())
        }
        #expect(notices == [.leaveComplete])
        #expect(now < .seconds(2))
        a.receive([.suspect(incarnation: 5, Self.a, by: Self.b)], from: Self.address(Self.b), now: now)
        #expect(a.records[0].incarnation == 5)
        #expect(a.records[0].status == .left)
    }
}
