import ChatModel
import RoomProtocol
import Testing
import Wire

/// A leader that is not heard may have died, or stand still: until that is known, nothing that was said to it or by it is
/// taken for lost.
@Suite struct `Doubted leaders` {
    var lane = Lane()

    @Test mutating func `calls to a doubted leader wait, and are asked when it is heard again`() throws {
        _ = try lane.leads("n2", 5)
        try lane.suspects("n2", 5)
        #expect(lane.open.leader(of: Lane.shard) == nil)
        let calls = try (1...3).map { try lane.call("s1", UInt32($0), "\($0)") }
        for call in calls { #expect(lane.add(call) == .held) }
        lane.now += OpenRequests.heldMilliseconds - 1
        #expect(lane.expire().isEmpty)
        #expect(try lane.confirms("n2", 5) == calls)
        #expect(lane.open.leader(of: Lane.shard)?.node.text == "n2")
        lane.now += 1
        #expect(lane.expire().isEmpty, "the leader has them")
        #expect(try lane.confirms("n2", 5) == [], "once")
    }

    @Test mutating func `what it was asked before it has, and is not asked again`() throws {
        _ = try lane.leads("n2", 5)
        let (before, meanwhile) = (try lane.call("s1", 1, "before"), try lane.call("s1", 2, "meanwhile"))
        _ = lane.add(before)
        try lane.suspects("n2", 5)
        _ = lane.add(meanwhile)
        #expect(try lane.confirms("n2", 5) == [meanwhile])
        #expect(try lane.answered("s1", 1) && lane.answered("s1", 2))
    }

    @Test mutating func `its answers and what its rooms tell are heard while it is doubted`() throws {
        _ = try lane.leads("n2", 5)
        _ = lane.add(try lane.call())
        try lane.suspects("n2", 5)
        #expect(lane.open.isCurrent(5, of: Lane.shard) && !lane.open.isCurrent(4, of: Lane.shard))
        #expect(try lane.answered())
        #expect(try lane.confirms("n2", 5) == [])
    }

    @Test mutating func `hearing it again is no news to be told: nobody is announced`() throws {
        _ = try lane.leads("n2", 5)
        try lane.suspects("n2", 5)
        #expect(try lane.leads("n2", 5) == nil)
        _ = try lane.confirms("n2", 5)
        #expect(try lane.leads("n2", 5) == nil)
    }

    @Test mutating func `it hears of everybody who comes and goes, since nobody is announced to it again`() throws {
        _ = try lane.leads("n2", 5)
        try lane.suspects("n2", 5)
        for body in [RoomRequest.Body.leave, .away, .moved(from: nil)] {
            #expect(lane.add(try lane.call("s1", nil, body)) == .ask(try lane.node("n2")))
        }
        #expect(lane.add(try lane.call("s1", nil, "what nobody waits for")) == .held)
        #expect(lane.open.count == 0)
    }

    @Test mutating func `the next leader gets everything, in its order`() throws {
        _ = try lane.leads("n2", 5)
        let calls = try (1...4).map { try lane.call("s1", UInt32($0), "\($0)") }
        for call in calls.prefix(2) { _ = lane.add(call) }
        try lane.suspects("n2", 5)
        for call in calls.suffix(2) { _ = lane.add(call) }
        #expect(try lane.leads("n3", 6) == calls)
        #expect(try lane.confirms("n2", 5) == [], "it leads no more")
        #expect(lane.open.leader(of: Lane.shard)?.node.text == "n3")
    }

    @Test mutating func `a later term of the same node is another leader`() throws {
        _ = try lane.leads("n2", 5)
        let call = try lane.call()
        _ = lane.add(call)
        try lane.suspects("n2", 5)
        #expect(try lane.confirms("n2", 7) == [], "whoever is another leader says so itself")
        #expect(try lane.leads("n2", 7) == [call])
        try lane.suspects("n2", 5)
        #expect(lane.open.leader(of: Lane.shard)?.term == 7, "a doubt of an earlier term")
    }

    @Test mutating func `one whose connection ends is lost, and asked everything when it leads again`() throws {
        _ = try lane.leads("n2", 5)
        let (before, meanwhile) = (try lane.call("s1", 1, "before"), try lane.call("s1", 2, "meanwhile"))
        _ = lane.add(before)
        try lane.suspects("n2", 5)
        _ = lane.add(meanwhile)
        try lane.lost("n2")
        #expect(try lane.confirms("n2", 5) == [], "it is unknown what of all that has arrived")
        #expect(lane.add(try lane.call("s1", nil, .leave)) == .held)
        #expect(try lane.leads("n2", 5) == [before, meanwhile])
    }

    @Test mutating func `a doubt or trust of a shard is none of others`() throws {
        _ = try lane.leads("n2", 5)
        _ = try lane.leads("n2", 5, Lane.other)
        let (here, there) = (try lane.call("s1", 1), try lane.call("s1", 2))
        try lane.suspects("n2", 5)
        try lane.suspects("n2", 5, Lane.other)
        #expect(lane.add(here) == .held && lane.add(there, Lane.other) == .held)
        #expect(try lane.confirms("n2", 5) == [here])
        #expect(lane.open.leader(of: Lane.other) == nil)
        #expect(try lane.confirms("n2", 5, Lane.other) == [there])
    }

    @Test mutating func `calls are given back in their time, whether the leader was asked or not`() throws {
        _ = try lane.leads("n2", 5)
        let (before, meanwhile) = (try lane.call("s1", 1, "before"), try lane.call("s1", 2, "meanwhile"))
        _ = lane.add(before)
        try lane.suspects("n2", 5)
        _ = lane.add(meanwhile)
        try lane.suspects("n2", 5)
        lane.now += OpenRequests.heldMilliseconds
        #expect(lane.expire() == [before, meanwhile])
        #expect(try lane.confirms("n2", 5) == [])
    }

    @Test mutating func `a call that a doubted leader refused is asked again when it is heard`() throws {
        _ = try lane.leads("n2", 5)
        let call = try lane.call()
        _ = lane.add(call)
        try lane.suspects("n2", 5)
        try lane.refused(by: "n2")
        #expect(try lane.confirms("n2", 5) == [call])
    }

    /// Against a list of who was told what: each open call is with the present leader at most once, in the order of its
    /// session, whatever the leaders do.
    @Test func `no leader gets a call twice without having lost it, and none is forgotten`() throws {
        for seed in UInt64(1)...200 {
            var random = SplitMix(seed)
            var lane = Lane()
            var leader: (node: String, term: UInt64)?
            var isDoubted = false
            var term: UInt64 = 0
            /// What the present leader has been sent in this term over this connection.
            var inbox: [RoomRequest] = []
            var made: UInt32 = 0
            for _ in 0..<60 {
                switch random.next() % 6 {
                case 0, 1:
                    made += 1
                    let call = try lane.call("s1", made, "\(made)")
                    if case .ask(let node) = lane.add(call) {
                        #expect(node.text == leader?.node && !isDoubted, "seed \(seed)")
                        inbox.append(call)
                    } else {
                        #expect(leader == nil || isDoubted, "seed \(seed)")
                    }
                case 2:
                    guard let leader, !isDoubted else { continue }
                    try lane.suspects(leader.node, leader.term)
                    isDoubted = true
                case 3:
                    guard let leader, isDoubted else { continue }
                    inbox += try lane.confirms(leader.node, leader.term)
                    isDoubted = false
                case 4:
                    guard let former = leader else { continue }
                    try lane.lost(former.node)
                    (leader, isDoubted, inbox) = (nil, false, [])
                default:
                    term += 1
                    let next = (node: "n\(random.next() % 3)", term: term)
                    inbox = try #require(try lane.leads(next.node, next.term))
                    (leader, isDoubted) = (next, false)
                }
                let numbers = inbox.compactMap(\.number)
                #expect(numbers == numbers.sorted() && Set(numbers).count == numbers.count, "seed \(seed)")
                if leader != nil, !isDoubted { #expect(numbers.count == lane.open.count, "seed \(seed)") }
            }
        }
    }
}

/// SplitMix64: the same numbers for the same seed.
private struct SplitMix {
    private var state: UInt64
    init(_ seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}
