import ChatModel
import EventLoop
import Logging
import RoomProtocol
import SessionCore
import ShardPlacement
import Synchronization
import Telemetry
import Testing
import Wire

@testable import Gateway

/// Whatever got lost between a gateway and the leader of a room: it is found out and said anew, and nobody's call is
/// answered with it.
@Suite(.timeLimit(.minutes(3))) struct StreamRepairTests {
    /// What a lane sends to leaders.
    private final class Sent: RoomRouter {
        enum Item: Sendable, Equatable {
            case call(RoomRequest)
            case ask(TallyRequest)
            case recount(LaneRecount)
            case drop(NodeID)
        }

        private let items = Mutex<[Item]>([])
        let isReached = Mutex(true)

        func take() -> [Item] {
            items.withLock { items in
                defer { items = [] }
                return items
            }
        }

        private func note(_ item: Item) { items.withLock { $0.append(item) } }

        func route(_ calls: [RoomRequest], to node: NodeID, from lane: Int) { for call in calls { note(.call(call)) } }
        func ask(_ request: TallyRequest, of node: NodeID) { note(.ask(request)) }
        func recount(_ recount: LaneRecount, at node: NodeID) { note(.recount(recount)) }
        func notify(_ uses: [UserUse]) {}
        func drop(_ node: NodeID) { note(.drop(node)) }
        func reaches(_ node: NodeID) -> Bool { isReached.withLock { $0 } }
    }

    private let here: NodeID
    private let leader: NodeID
    private let room: RoomID
    private let user: UserID
    private let shard = ShardID(0)
    private let sent = Sent()

    init() throws {
        here = try #require(NodeID("n1"))
        leader = try #require(NodeID("n2"))
        room = try #require(RoomID("live"))
        user = try #require(UserID("wanda"))
    }

    /// With a lane on which one session is in the room, which the leader has gone on with from seq 5.
    private func withLane(_ body: @Sendable @escaping (GatewayLane, SessionID) throws -> Void) async throws {
        let (room, leader, sent, here, user) = (room, leader, sent, here, user)
        try await TestGateway.run(at: here, router: sent) { gateway in
            let lane = try #require(gateway.lane(0))
            let id = TestGateway.session(1, at: here)
            let stay = SessionStay(profile: Profile(), enteredAt: Timestamp(900))
            let handed = HandedSession(
                user: user, anonymous: false, device: .web, startedAt: Timestamp(800),
                stays: [HandedSession.RoomStay(room: room, stay: stay)])
            let result = await lane.loop.run {
                Result {
                    let lane = lane.value
                    lane.onLeaderKnown(ShardNotice(shard: ShardID(0), term: 3), by: leader)
                    lane.keep(Session(handed, id: id, from: leader, on: lane))
                    let following = NodePublication.Output.lane(0, .following(0, through: 5))
                    lane.perform(
                        [NodePublication(room: room, term: 3, lanes: [], outputs: [following])], at: [0], from: leader)
                    _ = sent.take()
                    try body(lane, id)
                }
            }
            try result.get()
        }
    }

    /// The leader tells the lane this.
    private func hear(_ outputs: [RoomOutput], _ lane: GatewayLane) {
        let publication = NodePublication(room: room, term: 3, lanes: [], outputs: outputs.map { .lane(0, $0) })
        lane.perform([publication], at: [0], from: leader)
    }

    /// The session's wish to leave, as its request 7.
    private func exit(of session: LaneSession, _ lane: GatewayLane) -> RoomRequest {
        RoomRequest(
            room: room, from: SessionOrigin(lane.address(of: session), session.state.caller, request: 7, number: 1),
            .operation(.exit(RoomNameRequest(room: room))))
    }

    private func pulse(_ tally: RoomTally?, term: UInt64 = 3) -> ShardPulse {
        var lane = LaneTally(lane: 0)
        if let tally { lane.add(tally) }
        return ShardPulse(shard: shard, term: term, lanes: [lane])
    }

    @Test func `a leader that agrees is asked nothing`() async throws {
        try await withLane { lane, id in
            let own = try #require(lane.roster.tallies(of: shard)[room])
            #expect(own.sessions == 1 && own.seq == 5)
            for _ in 0..<5 { lane.hear([pulse(own)], from: leader) }
            #expect(sent.take() == [])
        }
    }

    @Test func `a leader that does not know a lane's sessions is told of them within three pulses`() async throws {
        try await withLane { lane, id in
            lane.hear([pulse(nil)], from: leader)
            #expect(sent.take() == [], "something may be under way")
            for _ in 0..<2 {
                lane.hear([pulse(nil)], from: leader)
                #expect(sent.take() == [.ask(TallyRequest(shard: shard, lane: 0))])
                lane.hear(ShardTallies(shard: shard, lane: 0, term: 3), from: leader)
            }
            let said = sent.take()
            #expect(said.first == .recount(LaneRecount(lane: 0, rooms: [room])), "before what is announced")
            guard said.count == 3, case .call(let announce) = said[1], case .call(let follow) = said[2],
                case .announce = announce.body, case .follow = follow.body
            else { return #expect(Bool(false), "\(said)") }
            #expect(announce.asker == .session(id))
            #expect(lane.awaited.awaits(room))
        }
    }

    @Test func `a viewer who was shown less than the leader has told a second ago is caught up`() async throws {
        try await withLane { lane, _ in
            var ahead = try #require(lane.roster.tallies(of: shard)[room])
            ahead.seq = 9
            lane.hubs[room] = Hub(room: room, lane: lane)
            lane.hear([pulse(ahead)], from: leader)
            for _ in 0..<2 {
                lane.hear([pulse(ahead)], from: leader)
                lane.hear(ShardTallies(shard: shard, lane: 0, term: 3, rooms: [ahead]), from: leader)
            }
            #expect(sent.take().contains(.recount(LaneRecount(lane: 0, rooms: [room]))))
        }
    }

    @Test func `a room without viewers goes on from where the leader is, and nothing is counted anew`() async throws {
        try await withLane { lane, _ in
            // As it is with a session that was taken up from another lane: nothing has been heard of its room.
            var ahead = try #require(lane.roster.tallies(of: shard)[room])
            ahead.seq = 9
            for _ in 0..<2 { lane.hear([pulse(ahead)], from: leader) }
            #expect(sent.take() == [.ask(TallyRequest(shard: shard, lane: 0))])
            lane.hear(ShardTallies(shard: shard, lane: 0, term: 3, rooms: [ahead]), from: leader)
            for _ in 0..<5 { lane.hear([pulse(ahead)], from: leader) }
            #expect(sent.take() == [])
            #expect(lane.roster.tallies(of: shard)[room]?.seq == 9)
        }
    }

    @Test func `ghosts in a shard where the lane has no session are found, while it looks around`() async throws {
        try await withLane { lane, id in
            let own = try #require(lane.roster.tallies(of: shard)[room])
            // The leave was lost.
            lane.exited(id, room, nil)
            #expect(Array(lane.roster.shards).isEmpty)
            var recounts = 0
            for _ in 0..<4 {
                lane.watchLeaders()
                lane.hear([pulse(own)], from: leader)
                for item in sent.take() {
                    switch item {
                    case .ask: lane.hear(ShardTallies(shard: shard, lane: 0, term: 3, rooms: [own]), from: leader)
                    default: break
                    }
                }
                for case .recount(LaneRecount(lane: 0, rooms: [room])) in sent.take() { recounts += 1 }
            }
            #expect(recounts == 1)
        }
    }

    @Test func `a session that is leaving is not announced, and its wish is repeated`() async throws {
        try await withLane { lane, id in
            let session = try #require(lane.sessions[id])
            let exit = exit(of: session, lane)
            lane.ask([exit])
            _ = sent.take()
            for _ in 0..<2 { lane.hear(ShardTallies(shard: shard, lane: 0, term: 3), from: leader) }
            #expect(sent.take() == [.recount(LaneRecount(lane: 0, rooms: [room])), .call(exit)])
            // A leader that has seen it off already says that it is not there, which is what was wanted.
            let refusal = RoomOutput.reply(id, request: 7, .failure(ChatError(.notInRoom, "no")))
            hear([refusal], lane)
            #expect(sent.take() == [] && lane.open.count == 0)
            #expect(!session.state.isIn(room) && Array(lane.roster.shards).isEmpty)
        }
    }

    @Test func `an exit that was given up and done all the same is undone: its client believes to be in the room`()
        async throws
    {
        try await withLane { lane, id in
            let session = try #require(lane.sessions[id])
            let exit = exit(of: session, lane)
            lane.ask([exit])
            // Its client is answered 503, because nobody knows whether the leader has it.
            let isGivenUp = lane.open.answered(.session(id), 7)
            #expect(isGivenUp)
            _ = sent.take()
            let exited = RoomOutput.exited(id, request: 7)
            hear([exited], lane)
            guard let session = lane.sessions[id], session.state.isIn(room) else { return #expect(Bool(false), "deaf") }
            let said = sent.take()
            guard said.count == 2, case .call(let announce) = said[0], case .call(let follow) = said[1],
                case .announce = announce.body, case .follow = follow.body
            else { return #expect(Bool(false), "\(said)") }
            #expect(announce.asker == .session(id) && lane.awaited.awaits(room))
        }
    }

    @Test func `what others of the lane have asked meanwhile is asked again, too`() async throws {
        try await withLane { lane, id in
            let session = try #require(lane.sessions[id])
            func call(_ request: UInt32, _ operation: ClientOperation) -> RoomRequest {
                RoomRequest(
                    room: room,
                    from: SessionOrigin(
                        lane.address(of: session), session.state.caller, request: request, number: UInt64(request)),
                    .operation(operation))
            }
            let other = lane.adopt(Session(id: TestGateway.session(2, at: here), user: user, on: lane))
            var enter = call(9, .enter(EnterRequest(room: room)))
            enter.session?.address = lane.address(of: other)
            let read = ClientOperation.room(RoomNameRequest(room: room))
            let (first, second) = (call(7, read), call(8, read))
            lane.ask([first, second, enter])
            _ = sent.take()
            func refusal(_ request: UInt32) -> RoomOutput {
                .reply(id, request: request, .failure(ChatError(.notInRoom, "no")))
            }
            hear([refusal(7), refusal(8)], lane)
            let said = sent.take()
            // The session once, and then all that has no answer, for what comes before the leader goes on is not heard.
            guard said.count == 5, case .call(let announce) = said[0], case .call(let follow) = said[1],
                case .announce = announce.body, case .follow = follow.body
            else { return #expect(Bool(false), "\(said)") }
            #expect(Array(said[2...]) == [.call(first), .call(second), .call(enter)])
            #expect(lane.awaited.awaits(room))
        }
    }

    private func call(_ request: UInt32, _ operation: ClientOperation, of session: LaneSession, _ lane: GatewayLane)
        -> RoomRequest
    {
        RoomRequest(
            room: room,
            from: SessionOrigin(
                lane.address(of: session), session.state.caller, request: request, number: UInt64(request)),
            .operation(operation))
    }

    @Test func `a client that is in a room does not hear that it is not, however often its leader says so`()
        async throws
    {
        try await withLane { lane, id in
            let session = try #require(lane.sessions[id])
            lane.ask([call(7, .room(RoomNameRequest(room: room)), of: session, lane)])
            for _ in 0..<OpenRequests.unknownMax {
                #expect(lane.announceUnknown(id, 7, room, by: leader))
                lane.sendUnknown(to: leader)
                #expect(lane.open.isOpen(id, 7))
            }
            // It is told to try again.
            #expect(lane.announceUnknown(id, 7, room, by: leader))
            #expect(!lane.open.isOpen(id, 7) && session.state.isIn(room))
        }
    }

    @Test func `barrage that a leader has not known the sender of is not refused as of a stranger by its next term`()
        async throws
    {
        try await withLane { lane, id in
            let session = try #require(lane.sessions[id])
            lane.ask([call(7, .barrage(BarrageRequest(room: room, text: "hi")), of: session, lane)])
            // It may have been shown, so it is not asked again. What it was asked in the former term comes late.
            lane.onLeaderKnown(ShardNotice(shard: shard, term: 4), by: leader)
            #expect(lane.announceUnknown(id, 7, room, by: leader))
            #expect(!lane.open.isOpen(id, 7))
        }
    }

    @Test func `what a client asks behind its enter is not refused before the enter is answered`() async throws {
        try await withLane { lane, _ in
            let other = lane.adopt(Session(id: TestGateway.session(2, at: here), user: user, on: lane))
            let enter = EnterRequest(room: room)
            _ = other.state.onUnratedRequest(Session.Request(.enter(enter), to: room, id: 1), SessionLimits())
            let calls = [
                call(8, .enter(enter), of: other, lane), call(9, .room(RoomNameRequest(room: room)), of: other, lane),
            ]
            lane.ask(calls)
            _ = sent.take()
            // A leader that leads anew gives back what has come before, and knows nobody when it gets the rest.
            hear([.retry(other.id, request: 8)], lane)
            lane.onLeaderKnown(ShardNotice(shard: shard, term: 4), by: leader)
            #expect(sent.take().suffix(2) == calls.map { .call($0) })
            #expect(lane.announceUnknown(other.id, 9, room, by: leader))
            #expect(lane.open.isOpen(other.id, 8) && lane.open.isOpen(other.id, 9))
            // Not let in, it is not there.
            let refusal = Session.EnterAnswer(request: 8, result: .failure(ChatError(.blacklisted, "no")))
            lane.entered(other.id, room, refusal)
            #expect(!lane.announceUnknown(other.id, 9, room, by: leader))
        }
    }

    @Test func `sessions that only the leader knows are counted anew, though nobody is announced`() async throws {
        try await withLane { lane, _ in
            let other = try #require(RoomID("other"))
            let own = try #require(lane.roster.tallies(of: shard)[room])
            let ghosts = RoomTally(room: other, sessions: 2, sum: 77, seq: 3)
            for _ in 0..<2 {
                lane.hear(ShardTallies(shard: shard, lane: 0, term: 3, rooms: [own, ghosts]), from: leader)
            }
            #expect(sent.take() == [.recount(LaneRecount(lane: 0, rooms: [other]))])
        }
    }

    @Test func `a leader that says nothing for three seconds is asked, and then its link is made anew`() async throws {
        try await withLane { lane, _ in
            for _ in 0..<2 { lane.watchLeaders() }
            #expect(sent.take() == [])
            lane.watchLeaders()
            #expect(sent.take() == [.ask(TallyRequest(shard: shard, lane: 0))])
            let own = try #require(lane.roster.tallies(of: shard)[room])
            lane.hear([pulse(own)], from: leader)
            for _ in 0..<2 { lane.watchLeaders() }
            #expect(sent.take() == [], "it was heard")
            for _ in 0..<3 { lane.watchLeaders() }
            #expect(sent.take().last == .drop(leader))
        }
    }

    @Test func `sessions of a room that does not come back are out of it, and its next leader is told of none`()
        async throws
    {
        try await withLane { lane, id in
            lane.hubs[room] = Hub(room: room, lane: lane)
            let now = lane.loop.nowMilliseconds
            lane.onLeaderLost(leader, nil)
            lane.publishAwayLeaders(at: now)
            #expect(!lane.isAwayForNewcomer(room))
            lane.publishAwayLeaders(at: now + AwayLeaders.lostMilliseconds)
            #expect(lane.isAwayForNewcomer(room), "somebody who comes by an answer of before is told")
            #expect(lane.sessions[id]?.state.isIn(room) == true)
            lane.publishAwayLeaders(at: now + AwayLeaders.lostMilliseconds + AwayLeaders.failedMilliseconds)
            #expect(lane.sessions[id]?.state.isIn(room) == false && Array(lane.roster.shards).isEmpty)
            #expect(!lane.isAwayForNewcomer(room))
            _ = sent.take()
            lane.onLeaderKnown(ShardNotice(shard: shard, term: 4), by: leader)
            #expect(sent.take() == [])
        }
    }

    @Test func `a newcomer by the next leader is told of no absence`() async throws {
        try await withLane { lane, _ in
            let now = lane.loop.nowMilliseconds
            lane.onLeaderLost(leader, nil)
            lane.publishAwayLeaders(at: now)
            lane.publishAwayLeaders(at: now + AwayLeaders.lostMilliseconds)
            lane.onLeaderKnown(ShardNotice(shard: shard, term: 4), by: leader)
            #expect(lane.isAwayForNewcomer(room), "it has not gone on")
            guard case .call(let follow)? = sent.take().last, let number = follow.session?.number else {
                return #expect(Bool(false), "the leader is told what viewers were shown")
            }
            let following = NodePublication.Output.lane(0, .following(number, through: 5))
            let publication = NodePublication(room: room, term: 4, lanes: [], outputs: [following])
            lane.perform([publication], at: [0], from: leader)
            #expect(!lane.isAwayForNewcomer(room) && !lane.away.isLost(room))
        }
    }

    @Test func `the silence of a leader that is not reached means nothing`() async throws {
        try await withLane { lane, _ in
            sent.isReached.withLock { $0 = false }
            for _ in 0..<20 { lane.watchLeaders() }
            #expect(sent.take() == [])
            // From then on it is listened to.
            sent.isReached.withLock { $0 = true }
            for _ in 0..<3 { lane.watchLeaders() }
            #expect(sent.take() == [.ask(TallyRequest(shard: shard, lane: 0))])
        }
    }

    @Test func `a pulse of a leader whose first word was lost is as good as that`() async throws {
        try await withLane { lane, id in
            let next = try #require(NodeID("n3"))
            lane.hear([pulse(nil, term: 4)], from: next)
            #expect(lane.open.leader(of: shard)?.node == next)
            guard case .call(let announce)? = sent.take().first, case .announce = announce.body else {
                return #expect(Bool(false), "the session must be announced")
            }
            #expect(announce.asker == .session(id))
        }
    }

    @Test func `a node that says that it leads no more is not waited for`() async throws {
        try await withLane { lane, _ in
            lane.hear(ShardTallies(shard: shard, lane: 0, term: nil), from: leader)
            #expect(lane.open.leader(of: shard) == nil)
        }
    }

    @Test func `a leader that does not know a session is told of it and asked again, twice at most`() async throws {
        try await withLane { lane, id in
            let session = try #require(lane.sessions[id])
            let number: UInt32 = 7
            let send = SendRequest(room: room, clientID: "c", draft: MessageDraft(body: .text("hello")))
            let call = RoomRequest(
                room: room,
                from: SessionOrigin(lane.address(of: session), session.state.caller, request: number, number: 1),
                .operation(.send(send)))
            lane.ask([call])
            #expect(sent.take() == [.call(call)])
            let refusal = RoomOutput.reply(
                id, request: number, .failure(ChatError(.notInRoom, "\(user) is not in \(room)")))
            for _ in 0..<OpenRequests.unknownMax {
                hear([refusal], lane)
                let said = sent.take()
                guard said.count == 3, case .call(let announce) = said[0], case .call(let follow) = said[1],
                    case .announce = announce.body, case .follow = follow.body
                else { return #expect(Bool(false), "\(said)") }
                #expect(said[2] == .call(call))
                #expect(lane.open.count == 1)
            }
            hear([refusal], lane)
            #expect(sent.take() == [])
            #expect(lane.open.count == 0, "its answer stands")
        }
    }

    @Test func `a session that is not in the room is told so`() async throws {
        try await withLane { lane, id in
            let session = try #require(lane.sessions[id])
            hear([.kicked(id, .byManager, ext: nil)], lane)
            let number: UInt32 = 7
            let call = RoomRequest(
                room: room,
                from: SessionOrigin(lane.address(of: session), session.state.caller, request: number, number: 1),
                .operation(.room(RoomNameRequest(room: room))))
            lane.ask([call])
            _ = sent.take()
            let refusal = RoomOutput.reply(id, request: number, .failure(ChatError(.notInRoom, "no")))
            hear([refusal], lane)
            #expect(sent.take() == [])
            #expect(lane.open.count == 0)
            #expect(Array(lane.roster.shards).isEmpty)
        }
    }

    @Test func `sessions that go elsewhere are not counted`() async throws {
        try await withLane { lane, id in
            let other = lane.adopt(Session(id: TestGateway.session(2, at: here), user: user, on: lane))
            lane.end(other)
            #expect(lane.roster.tallies(of: shard)[room]?.sessions == 1)
            #expect(lane.migrateSession(id, to: user) != nil)
            #expect(lane.roster.tallies(of: shard).isEmpty)
        }
    }
}
