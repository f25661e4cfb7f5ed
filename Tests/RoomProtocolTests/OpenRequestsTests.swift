import ChatModel
import RoomProtocol
import Testing
import Wire

/// Calls find their leader, also the next one, each is answered once, and none waits for ever.
@Suite struct `Open calls` {
    var lane = Lane()

    @Test mutating func `a call is asked of the leader and is open until its answer`() throws {
        #expect(try lane.leads("n2", 5) == [])
        #expect(lane.add(try lane.call()) == .ask(try lane.node("n2")))
        #expect(lane.open.count == 1)
        #expect(try lane.answered())
        #expect(lane.open.count == 0)
        #expect(try !lane.answered(), "a second answer is nobody's")
        #expect(try lane.leads("n3", 6) == [], "an answered call is not asked again")
    }

    @Test mutating func `one session has so many calls open, and others have theirs`() throws {
        for request in 1...UInt32(OpenRequests.openPerSessionMax) {
            #expect(lane.add(try lane.call("s1", request)) == .held)
        }
        #expect(lane.add(try lane.call("s1", 1_000)) == .refused)
        #expect(lane.add(try lane.call("s2", 1)) == .held)
        #expect(try lane.answered("s1", 1))
        #expect(lane.add(try lane.call("s1", 1_000)) == .held)
    }

    @Test mutating func `a call without a leader waits for one`() throws {
        let call = try lane.call()
        #expect(lane.add(call) == .held)
        lane.now += OpenRequests.heldMilliseconds - 1
        #expect(lane.expire().isEmpty)
        #expect(try lane.leads("n2", 5) == [call])
        lane.now += 1
        #expect(lane.expire().isEmpty, "a leader has it")
        #expect(try lane.answered())
    }

    @Test mutating func `a call that no leader was found for in time is given back, once`() throws {
        let call = try lane.call()
        _ = lane.add(call)
        lane.now += OpenRequests.heldMilliseconds
        #expect(lane.expire() == [call])
        #expect(lane.expire().isEmpty)
        #expect(lane.open.count == 0)
        #expect(try !lane.answered())
        #expect(try lane.leads("n2", 5) == [])
    }

    @Test mutating func `a leader that takes too long is not waited for`() throws {
        _ = try lane.leads("n2", 5)
        let call = try lane.call()
        _ = lane.add(call)
        // Nothing is looked at before its time, as nothing waits for a leader.
        lane.now += OpenRequests.answerMilliseconds - 1
        #expect(lane.expire().isEmpty)
        lane.now += 5_000
        #expect(lane.expire() == [call])
    }

    @Test mutating func `pages of history that are slow are not asked for twice`() throws {
        _ = try lane.leads("n2", 5)
        let history = RoomHistoryRequest(room: try lane.room("live"))
        _ = lane.add(try lane.call("s1", 1, .operation(.history(history))))
        lane.now += OpenRequests.askAgainMilliseconds + 1_000
        #expect(lane.open.unanswered(at: lane.now).isEmpty)
        // A leader that begins is asked all the same.
        #expect(try lane.leads("n3", 6)?.count == 1)
    }

    @Test mutating func `a call that its leader does not answer for long is asked of it once more`() throws {
        _ = try lane.leads("n2", 5)
        let call = try lane.call()
        _ = lane.add(call)
        lane.now += OpenRequests.askAgainMilliseconds - 1
        #expect(lane.open.unanswered(at: lane.now).isEmpty)
        lane.now += 1_000
        let again = lane.open.unanswered(at: lane.now)
        #expect(again.map(\.call) == [call])
        #expect(again.first?.node == (try lane.node("n2")))
        lane.now += OpenRequests.askAgainMilliseconds
        #expect(lane.open.unanswered(at: lane.now).isEmpty)
        // It was asked twice, so the first refusal does not mean that the leader has it no more.
        try lane.refused(by: "n2")
        #expect(lane.expire().isEmpty && lane.open.count == 1)
        #expect(try lane.answered())
    }

    @Test mutating func `a term that nobody leads in deafens the lane to the leader for a while only`() throws {
        _ = try lane.leads("n2", 5)
        // A broken node says so, and goes.
        _ = try lane.leads("n9", 1 << 48)
        #expect(try lane.leads("n2", 5) == nil)
        try lane.lost("n9")
        let (shard, n2, n4) = (Lane.shard, try lane.node("n2"), try lane.node("n4"))
        func says(_ node: NodeID, _ term: UInt64) -> Bool {
            lane.open.onLeaderInsisting(node, shard, term: term, at: lane.now)
            return lane.open.onLeader(node, shard, term: term) != nil
        }
        for _ in 0..<10 {
            #expect(!says(n2, 5))
            lane.now += 1_000
        }
        // A former leader that says so once counts for nothing, nor one that pauses.
        #expect(!says(n4, 4))
        for _ in 0..<3 {
            #expect(!says(n2, 5))
            lane.now += 4_000
        }
        for _ in 0..<10 {
            #expect(!says(n2, 5))
            lane.now += 1_000
        }
        #expect(says(n2, 5))
        // While somebody leads in a later term, nobody else does.
        for _ in 0..<30 {
            #expect(!says(n4, 4))
            lane.now += 1_000
        }
    }

    @Test mutating func `a call whose session its leader does not know is repeated, twice at most`() throws {
        let call = try lane.call()
        let session = try lane.session("s1")
        _ = lane.add(call)
        #expect(lane.open.unknown(session, 1) == false, "nobody has it")
        _ = try lane.leads("n2", 5)
        for _ in 0..<OpenRequests.unknownMax {
            #expect(lane.open.unknown(session, 1) == true)
            #expect(lane.open.askAgain(in: [call.room]) == [call])
        }
        #expect(lane.open.unknown(session, 1) == false)
        // The leader has it once, so its refusal means that it has it no more.
        try lane.refused(by: "n2")
        lane.now += OpenRequests.heldMilliseconds
        #expect(lane.expire() == [call])
    }

    @Test mutating func `a call is given back once, and an enter is open until it is answered`() throws {
        _ = try lane.leads("n2", 5)
        let (room, session, other) = (try lane.room("live"), try lane.session("s1"), try lane.session("s2"))
        let enter = try lane.call("s1", 1, .operation(.enter(EnterRequest(room: room))))
        let send = try lane.call("s2", 1)
        for call in [enter, send] { _ = lane.add(call) }
        #expect(lane.open.isEntering(session, room) && !lane.open.isEntering(other, room))
        #expect(!lane.open.isEntering(session, try lane.room("else")))
        #expect(lane.open.giveBack(session, 2) == nil && lane.open.giveBack(session, 1) == enter)
        #expect(lane.open.giveBack(session, 1) == nil && !lane.open.isEntering(session, room))
        #expect(lane.open.count == 1)
    }

    @Test mutating func `barrage is not repeated to a leader that may have it`() throws {
        _ = try lane.leads("n2", 5)
        let room = try lane.room("live")
        let session = try lane.session("s1")
        let barrage = try lane.call("s1", 1, .operation(.barrage(BarrageRequest(room: room, text: "hi"))))
        let send = try lane.call("s1", 2)
        for call in [barrage, send] { _ = lane.add(call) }
        #expect(lane.open.askAgain(in: [room]) == [send])
        lane.now += OpenRequests.askAgainMilliseconds + 1_000
        #expect(lane.open.unanswered(at: lane.now).map(\.call) == [send])
        // One that did not know the session has not shown it.
        #expect(lane.open.unknown(session, 1) == true)
        #expect(lane.open.askAgain(in: [room]) == [barrage, send])
        // It has it now. Another leader would show it once more: it is given back.
        #expect(try lane.leads("n3", 6) == [send])
        #expect(lane.expire() == [barrage])
        #expect(lane.expire().isEmpty)
    }

    @Test mutating func `barrage of a link that has ended is given back, unless it was not sent`() throws {
        _ = try lane.leads("n2", 5)
        let room = try lane.room("live")
        func barrage(_ request: UInt32) throws -> RoomRequest {
            try lane.call("s1", request, .operation(.barrage(BarrageRequest(room: room, text: "hi"))))
        }
        let (sent, late, send) = (try barrage(1), try barrage(2), try lane.call("s1", 3))
        for call in [sent, send] { _ = lane.add(call) }
        try lane.lost("n2")
        #expect(lane.add(late) == .held)
        #expect(lane.expire() == [sent])
        // The same leader, over its next link.
        #expect(try lane.leads("n2", 5) == [send, late])
        #expect(lane.expire().isEmpty)
        #expect(try lane.answered("s1", 1) == false)
    }

    @Test mutating func `sessions that are leaving are known`() throws {
        _ = try lane.leads("n2", 5)
        let room = try lane.room("live")
        let exit = try lane.call("s1", 1, .operation(.exit(RoomNameRequest(room: room))))
        for call in [exit, try lane.call("s2", 1)] { _ = lane.add(call) }
        #expect(lane.open.leaving([room]) == [room: [try lane.session("s1")]])
        #expect(lane.open.leaving([try lane.room("other")]).isEmpty)
        let (leaving, staying) = (try lane.session("s1"), try lane.session("s2"))
        #expect(lane.open.isLeaving(leaving, 1) && !lane.open.isLeaving(staying, 1))
    }

    @Test mutating func `calls of rooms that are announced anew are asked again, those of others are not`() throws {
        _ = try lane.leads("n2", 5)
        let calls = [try lane.call("s1", 1, "a"), try lane.call("s2", 1, "b"), try lane.call("s1", 2, "c")]
        for call in calls { _ = lane.add(call) }
        #expect(lane.open.askAgain(in: [try lane.room("other")]).isEmpty)
        #expect(lane.open.askAgain(in: [try lane.room("live")]) == calls)
        #expect(lane.open.count == 3)
    }

    @Test mutating func `what needs no answer is not kept`() throws {
        let leave = try lane.call("s1", nil, .leave)
        let silent = try lane.call("s1", nil, "")
        #expect(lane.add(leave) == .held && lane.add(silent) == .held)
        _ = try lane.leads("n2", 5)
        for call in [leave, silent] { #expect(lane.add(call) == .ask(try lane.node("n2"))) }
        // An announcement is made anew for each leader, whatever it carries.
        #expect(lane.add(try lane.call("s1", 7, .away)) == .ask(try lane.node("n2")))
        #expect(lane.open.count == 0)
    }

    @Test mutating func `a new leader gets everything that is open, in the order in which it was made`() throws {
        _ = try lane.leads("n2", 5)
        let calls = try (1...20).map { try lane.call("s\($0 % 3)", UInt32($0), "\($0)") }
        for call in calls.prefix(10) { _ = lane.add(call) }
        try lane.lost("n2")
        for call in calls.suffix(10) { #expect(lane.add(call) == .held) }
        #expect(try lane.answered("s1", 1), "the former leader's answer may still come")
        #expect(try lane.leads("n3", 6) == Array(calls.dropFirst()))
        #expect(try lane.leads("n1", 7) == Array(calls.dropFirst()), "what it has not answered is asked again")
    }

    @Test mutating func `a leader gets the calls of its shards only`() throws {
        let (here, there) = (try lane.call("s1", 1), try lane.call("s1", 2))
        _ = lane.add(here)
        _ = lane.add(there, Lane.other)
        #expect(try lane.leads("n2", 5) == [here])
        #expect(try lane.leads("n2", 5, Lane.other) == [there])
        try lane.lost("n2", Lane.other)
        #expect(lane.open.leader(of: Lane.shard)?.node.text == "n2")
        #expect(lane.open.leader(of: Lane.other) == nil)
        try lane.lost("n2")
        #expect(lane.open.leader(of: Lane.shard) == nil)
    }

    @Test mutating func `a node that is lost loses nothing that others lead`() throws {
        _ = try lane.leads("n2", 5)
        _ = lane.add(try lane.call())
        try lane.lost("n3")
        #expect(lane.open.leader(of: Lane.shard)?.node.text == "n2")
        #expect(lane.open.leader(of: Lane.shard)?.term == 5)
        lane.now += OpenRequests.heldMilliseconds
        #expect(lane.expire().isEmpty)
    }

    @Test mutating func `an earlier leader is not heard, and the same notice is no news`() throws {
        _ = try lane.leads("n2", 5)
        #expect(try lane.leads("n3", 4) == nil)
        #expect(try lane.leads("n2", 5) == nil)
        #expect(lane.open.isCurrent(5, of: Lane.shard) && !lane.open.isCurrent(4, of: Lane.shard))
        #expect(!lane.open.isCurrent(6, of: Lane.shard), "it has not been told what was shown")
        try lane.lost("n2")
        #expect(!lane.open.isCurrent(5, of: Lane.shard), "on its way since before, or sent too early")
        #expect(try lane.leads("n3", 4) == nil, "also while nobody leads")
        #expect(try lane.leads("n2", 5) == [], "a node that is reached again leads again")
        #expect(lane.open.isCurrent(0, of: Lane.other), "of a shard that nothing is known of, everything is heard")
    }

    @Test mutating func `a refusal by a former leader is none by the present one, which has the call`() throws {
        _ = try lane.leads("n2", 5)
        let call = try lane.call()
        _ = lane.add(call)
        #expect(try lane.leads("n3", 6) == [call])
        try lane.refused(by: "n2")
        lane.now += OpenRequests.heldMilliseconds
        #expect(lane.expire().isEmpty, "it waits for n3's answer")
        #expect(try lane.answered())
    }

    @Test mutating func `a leader that was asked twice has the call until it has refused it twice`() throws {
        let call = try lane.call()
        _ = try lane.leads("n2", 5)
        _ = lane.add(call)
        #expect(try lane.leads("n2", 7) == [call])
        // Said before it led anew, and delivered late.
        try lane.refused(by: "n2")
        lane.now += OpenRequests.heldMilliseconds
        #expect(lane.expire().isEmpty)
        try lane.refused(by: "n2")
        lane.now += OpenRequests.heldMilliseconds
        #expect(lane.expire() == [call])
    }

    @Test mutating func `what a leader refuses while it hands over is asked again when it still leads, in its order`()
        throws
    {
        _ = try lane.leads("n2", 5)
        let calls = [try lane.call("s1", 1), try lane.call("s1", 2)]
        #expect(lane.add(calls[0]) == .ask(try lane.node("n2")))
        try lane.refused("s1", 1, by: "n2")
        // Behind the one that waits; others do not wait.
        #expect(lane.add(calls[1]) == .held)
        #expect(lane.add(try lane.call("s2", 1)) == .ask(try lane.node("n2")))
        #expect(lane.add(try lane.call("s1", 3), Lane.other) == .held, "nobody leads that one")
        #expect(try lane.leadsStill("n3", 5) == [] && lane.leadsStill("n2", 4) == [])
        #expect(try lane.leadsStill("n2", 5) == calls)
        #expect(try lane.leadsStill("n2", 5) == [], "it was asked")
        #expect(lane.add(try lane.call("s1", 4)) == .ask(try lane.node("n2")))
        lane.now += OpenRequests.heldMilliseconds
        #expect(lane.expire() == [try lane.call("s1", 3)])
    }

    @Test mutating func `a refusal by the leader itself makes the call wait for the next`() throws {
        _ = try lane.leads("n2", 5)
        let call = try lane.call()
        _ = lane.add(call)
        lane.now += 500
        try lane.refused(by: "n2")
        lane.now += OpenRequests.heldMilliseconds - 1
        #expect(lane.expire().isEmpty)
        #expect(try lane.leads("n3", 6) == [call])
        try lane.refused(by: "n3")
        lane.now += OpenRequests.heldMilliseconds
        #expect(lane.expire() == [call])
    }

    @Test mutating func `a call that is old when its leader is lost waits for the next one only so long in all`() throws
    {
        _ = try lane.leads("n2", 5)
        let (old, young) = (try lane.call("s1", 1), try lane.call("s1", 2))
        _ = lane.add(old)
        lane.now += OpenRequests.leaderlessMilliseconds - 500
        _ = lane.add(young)
        try lane.lost("n2")
        lane.now += 499
        #expect(lane.expire().isEmpty)
        lane.now += 1
        #expect(lane.expire() == [old])
        #expect(try lane.leads("n2", 5) == [young], "the same leader may be heard again")
    }

    @Test mutating func `a refusal while nobody leads does not prolong the wait`() throws {
        _ = try lane.leads("n2", 5)
        let call = try lane.call()
        _ = lane.add(call)
        try lane.lost("n2")
        lane.now += OpenRequests.heldMilliseconds - 1
        try lane.refused(by: "n2")
        lane.now += 1
        #expect(lane.expire() == [call])
        try lane.refused(by: "n2")
        #expect(lane.open.count == 0, "nobody knows it any more")
    }

    @Test mutating func `two calls under one number are answered in their order`() throws {
        _ = try lane.leads("n2", 5)
        let (first, second) = (try lane.call("s1", 1, "first"), try lane.call("s1", 1, "second"))
        _ = lane.add(first)
        _ = lane.add(second)
        #expect(try lane.answered())
        #expect(try lane.leads("n3", 6) == [second])
        #expect(try lane.answered())
        #expect(try !lane.answered())
    }

    @Test mutating func `sessions do not answer for each other`() throws {
        _ = try lane.leads("n2", 5)
        _ = lane.add(try lane.call("s1", 1))
        #expect(try !lane.answered("s2", 1))
        #expect(try !lane.answered("s1", 2))
        try lane.refused("s2", 1, by: "n2")
        lane.now += OpenRequests.heldMilliseconds
        #expect(lane.expire().isEmpty)
        #expect(lane.open.count == 1)
    }

    @Test mutating func `of a session that has gone to another node nothing is asked again`() throws {
        let calls = [try lane.call("s1", 1), try lane.call("s2", 1), try lane.call("s1", 2)]
        for call in calls { _ = lane.add(call) }
        lane.open.forget(try lane.session("s1"))
        #expect(lane.open.count == 1)
        #expect(try !lane.answered("s1", 1))
        #expect(try lane.leads("n2", 5) == [calls[1]])
    }

    @Test mutating func `one call more than may be open is refused, and an answer makes room`() throws {
        _ = try lane.leads("n2", 5)
        for number in 1...OpenRequests.openMax {
            _ = lane.add(try lane.call("s\(number / OpenRequests.openPerSessionMax)", UInt32(number)))
        }
        #expect(lane.open.count == OpenRequests.openMax)
        #expect(lane.add(try lane.call("new", 1)) == .refused)
        #expect(lane.add(try lane.call("new", nil, .leave)) == .ask(try lane.node("n2")), "what is not kept goes on")
        #expect(try lane.answered("s0", 7))
        #expect(lane.add(try lane.call("new", 1)) == .ask(try lane.node("n2")))
    }

    @Test mutating func `of two calls of one number the one that waited is given back, and the other answered`() throws
    {
        _ = try lane.leads("n2", 5)
        let first = try lane.call("s1", 1)
        #expect(lane.add(first) == .ask(try lane.node("n2")))
        let second = try lane.call("s1", 1, .operation(.barrage(BarrageRequest(room: first.room, text: "b"))))
        _ = lane.add(second)
        lane.open.onNodeLost(try lane.node("n2"), at: lane.now)
        #expect(lane.expire() == [second], "it could be shown twice")
        #expect(lane.open.count == 1)
        #expect(try lane.leads("n1", 6) == [first])
        #expect(try lane.answered("s1", 1))
        #expect(lane.open.count == 0)
    }

    @Test mutating func `those that waited long enough are given back, the others wait on`() throws {
        let (first, second) = (try lane.call("s1", 1), try lane.call("s1", 2))
        _ = lane.add(first)
        lane.now += 500
        _ = lane.add(second)
        lane.now += OpenRequests.heldMilliseconds - 500
        #expect(lane.expire() == [first])
        lane.now += 500
        #expect(lane.expire() == [second])
        #expect(lane.open.count == 0)
    }
}
