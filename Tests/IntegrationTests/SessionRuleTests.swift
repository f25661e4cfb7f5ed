import ChatModel
import Foundation
import HTTPWebSocket
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// What a session may do, what it is told, and what of it goes along when its client comes back.
    @Suite struct SessionRuleTests {
        /// Waits until the node knows that the client has gone.
        private func away(_ user: String, _ node: TestNode) async throws {
            try await poll("\(user) is away") {
                let body = try await node.api("GET", "/v1/users/\(user)/sessions").body
                return body.contains(#""user":"\#(user)""#) && !body.contains(#""connected":true"#)
            }
        }

        /// Requests in one frame are taken at one moment, whatever the machine's speed.
        private func ask(_ client: TestClient, _ operations: [ClientOperation], from first: UInt32 = 10_000)
            async throws
            -> [Result<OperationResult, ChatError>]
        {
            var json: [UInt8] = []
            for (index, operation) in operations.enumerated() {
                if index > 0 { json.append(UInt8(ascii: "\n")) }
                ClientRequest(id: first + UInt32(index), operation: operation).appendJSON(to: &json)
            }
            await client.write(.text, json)
            return try await operations.indices.map { first + UInt32($0) }.asyncMap { try await client.reply(to: $0) }
        }

        private func refusedCount(_ answers: [Result<OperationResult, ChatError>]) -> Int {
            answers.count { if case .failure(let error) = $0 { error.code == .tooOften } else { false } }
        }

        // MARK: - Rates

        @Test func `sixty repeats at once of what has been answered are all answered, over another connection too`()
            async throws
        {
            try await TestNode.run(["session": ["graceSeconds": 10]]) { node in
                let room = try await node.createRoom("repeats")
                var client = try await TestClient.connected(node, "ann", encoding: .json)
                try await client.enter(room)
                let first = try await client.send(room, "once", clientID: "same")
                let repeats = [ClientOperation](repeating: .text(room, "again", clientID: "same"), count: 60)
                for turn in 0..<2 {
                    for answer in try await ask(client, repeats) {
                        guard case .send(let result) = try answer.get() else { throw TestFailure("another result") }
                        #expect(result == first)
                    }
                    guard turn == 0 else { break }
                    client = try await TestClient.connected(node, "ann", session: client.session, encoding: .json)
                }
                #expect(try await client.wholeHistory(room).compactMap(\.text) == ["once"])
                // What is new is refused beyond the rate, with the wait, and not done.
                let new = try await ask(
                    client, (0..<60).map { .text(room, "new", clientID: "new-\($0)") }, from: 20_000)
                #expect((40...60).contains(refusedCount(new)))
                for case .failure(let error) in new { #expect((1...100_000).contains(error.retryAfterMs ?? 0)) }
                #expect(try await client.wholeHistory(room).count == 61 - refusedCount(new))
            }
        }

        @Test(arguments: [1, 2]) func `a takeover brings no new allowance`(loops: Int) async throws {
            // A rate that gives nothing back within the test.
            try await TestNode.run(["loops": loops, "session": ["changesPerSecond": 1, "changesBurst": 20]]) { node in
                let room = try await node.createRoom("takeovers")
                var client = try await TestClient.connected(node, "ann", encoding: .json)
                try await client.enter(room)
                let started = ContinuousClock.now
                var sent = 0
                for turn in 0..<6 {
                    let answers = try await ask(client, (0..<20).map { .text(room, "t", clientID: "\(turn)-\($0)") })
                    sent += answers.count - refusedCount(answers)
                    client = try await TestClient.connected(node, "ann", session: client.session, encoding: .json)
                }
                let seconds = Int((ContinuousClock.now - started) / .seconds(1)) + 1
                #expect((19...20 + seconds).contains(sent))
            }
        }

        @Test func `new sessions of a user have together three times what one has`() async throws {
            try await TestNode.run(["session": ["changesPerSecond": 1, "changesBurst": 20]]) { node in
                let room = try await node.createRoom("many")
                let started = ContinuousClock.now
                var sent = 0
                for turn in 0..<6 {
                    let client = try await TestClient.connected(node, "ann", encoding: .json)
                    guard case .success = try await client.ask(.enter(EnterRequest(room: room))) else { continue }
                    let answers = try await ask(client, (0..<20).map { .text(room, "t", clientID: "\(turn)-\($0)") })
                    sent += answers.count - refusedCount(answers)
                }
                let seconds = Int((ContinuousClock.now - started) / .seconds(1)) + 1
                #expect((54...60 + 3 * seconds).contains(sent))
            }
        }

        @Test func `640 KB of changes at once pass, and what is more is refused with the wait`() async throws {
            try await TestNode.run(["session": ["changesPerSecond": 1000, "changesBurst": 1000]]) { node in
                let room = try await node.createRoom("bytes")
                let client = try await TestClient.connected(node, "ann", encoding: .json)
                try await client.enter(room)
                let text = String(repeating: "x", count: 32 * 1024)
                let answers = try await ask(client, (0..<25).map { .text(room, text, clientID: "\($0)") })
                // 320 KB flow in within a second: some of it while the frame is read.
                #expect((1...5).contains(refusedCount(answers)))
                for case .failure(let error) in answers {
                    #expect(error.code == .tooOften && (1...500).contains(error.retryAfterMs ?? 0))
                }
            }
        }

        // MARK: - Tokens

        @Test func `a narrower token given by refresh ends the stay in the other rooms with reason 6`() async throws {
            try await TestNode.run { node in
                let (one, two) = (try await node.createRoom("one"), try await node.createRoom("two"))
                let client = try await TestClient.connected(node, "ann")
                for room in [one, two] { try await client.enter(room) }
                let watcher = try await TestClient.entered(node, "watcher", two)
                _ = try await client.ask(.refresh(RefreshRequest(token: node.token("ann", rooms: ["one"])))).get()
                #expect(try await client.kicked(from: two).reason == .tokenRevoked)
                try await watcher.notification(.exit, of: "ann")
                #expect(try await client.refusal(of: .text(two, "x")).code == .notInRoom)
                #expect(try await client.refusal(of: .enter(EnterRequest(room: two))).code == .forbidden)
                try await client.send(one, "still here")
            }
        }

        @Test func `a narrower token given by a takeover ends the stay in the other rooms with reason 6`() async throws
        {
            try await TestNode.run(["loops": 2]) { node in
                let (one, two) = (try await node.createRoom("one"), try await node.createRoom("two"))
                let client = try await TestClient.connected(node, "ann")
                for room in [one, two] { try await client.enter(room) }
                let watcher = try await TestClient.entered(node, "watcher", two)
                let newer = try await TestClient.connected(node, "ann", session: client.session, rooms: ["one"])
                #expect(try await newer.kicked(from: two).reason == .tokenRevoked)
                try await watcher.notification(.exit, of: "ann")
                try await newer.enter(one)
                try await newer.send(one, "still here")
                #expect(try await newer.refusal(of: .text(two, "x")).code == .notInRoom)
            }
        }

        @Test func `a token that lives for more than 366 days is refused, by its iat where it has one`() async throws {
            try await TestNode.run { node in
                let now = Int(Date().timeIntervalSince1970)
                func closes(_ claims: [String: Any]) async throws -> Bool {
                    var token = TestToken()
                    token.claims = claims
                    token.claims["sub"] = "ann"
                    let client = try await TestClient.open(port: node.clientPort)
                    switch try await client.ask(.connect(ConnectRequest(token: try token.signed()))) {
                    case .success: return false
                    case .failure(let error):
                        #expect(error.code == .unauthorized)
                        #expect(try await client.closing() == 4401)
                        return true
                    }
                }
                let day = 86_400
                #expect(try await closes(["exp": now + 367 * day]))
                #expect(try await closes(["exp": now + 10 * day, "iat": now - 360 * day]))
                #expect(try await !closes(["exp": now + 365 * day]))
                #expect(try await !closes(["exp": now + 5 * day, "iat": now - 360 * day]))
                // The longest that the server API issues is accepted.
                let answer = try await node.api("POST", "/v1/users/ann/token", #"{"ttlSeconds":31622400}"#)
                let issued = try #require(
                    answer.body.split(separator: #""token":""#).last?.split(separator: "\"").first)
                try await TestClient.open(port: node.clientPort).connect(token: String(issued))
                #expect(try await node.api("POST", "/v1/users/ann/token", #"{"ttlSeconds":31622401}"#).status == 400)
            }
        }

        // MARK: - What others see

        @Test func `mutes and the blacklist are shown to managers and to oneself only`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("secret", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let muted = try await TestClient.entered(node, "muted", room)
                let guest = try await TestClient.entered(node, "guest", room)
                for name in ["muted", "away"] {
                    try await owner.done(.setMute(UserFlagRequest(room: room, user: try user(name), enable: true)))
                }
                try await owner.done(.tempMute(TempMuteRequest(room: room, user: try user("muted"), seconds: 600)))
                try await owner.done(
                    .setBlacklist(BlacklistRequest(room: room, user: try user("barred"), enable: true)))

                func byID(_ client: TestClient) async throws -> [Member] {
                    let users = try ["muted", "away", "barred"].map { try user($0) }
                    guard
                        case .membersById(let result) = try await client.done(
                            .membersById(MembersByIDRequest(room: room, users: users)))
                    else { throw TestFailure("another result") }
                    return result.members
                }
                let seen = try await byID(guest)
                #expect(seen.map(\.user.text) == ["muted"], "who is away and has only flags is not there")
                #expect(seen.allSatisfy { $0 == $0.shownToOthers } && seen.first?.role == .guest)
                let whole = try await byID(owner)
                #expect(whole.map(\.role) == [.restricted, .restricted, .restricted])
                #expect(whole.map(\.muted) == [true, true, false] && whole.map(\.blacklisted) == [false, false, true])
                let own = try await byID(muted)
                #expect(own.count == 1 && own.first?.muted == true && own.first?.tempMuted == true)

                #expect(try await guest.members(room, .fixed).map(\.user.text) == ["owner"])
                #expect(
                    try await Set(owner.members(room, .fixed).map(\.user.text)) == ["owner", "muted", "away", "barred"])
                #expect(try await Set(guest.members(room, .temporary).map(\.user.text)) == ["guest", "muted"])
                #expect(try await guest.members(room, .temporary).allSatisfy { $0 == $0.shownToOthers })
                for kind in [MemberKind.muted, .blacklisted, .banned] {
                    let error = try await guest.refusal(of: .members(MembersRequest(room: room, kind: kind)))
                    #expect(error.code == .forbidden)
                }
            }
        }

        // MARK: - Kicks and bans

        @Test func `banSeconds 0 lifts a ban of somebody who is away, by a manager and by the server API`() async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("bans", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let eve = try await TestClient.entered(node, "eve", room)
                let target = try user("eve")
                try await owner.done(.kick(KickRequest(room: room, user: target, banSeconds: 600)))
                try await eve.kicked(from: room)
                #expect(try await owner.refusal(of: .kick(KickRequest(room: room, user: target))).code == .notFound)
                #expect(try await owner.members(room, .banned).map(\.user) == [target])
                #expect(try await eve.refusal(of: .enter(EnterRequest(room: room))).code == .blacklisted)
                try await owner.done(.kick(KickRequest(room: room, user: target, banSeconds: 0)))
                try await eve.enter(room)
                let start = await eve.items.count
                let path = "/v1/rooms/bans/members/eve/kick"
                #expect(try await node.api("POST", path, #"{"banSeconds":600}"#).status == 200)
                try await eve.kicked(from: room, from: start)
                #expect(try await node.api("POST", path, #"{"banSeconds":0}"#).status == 200)
                try await eve.enter(room)
                // Lifting is no kick: two were told.
                #expect(await owner.notifications(of: room).count { $0.event == .kicked } == 2)
            }
        }

        @Test(arguments: [1, 2]) func `who is kicked during the grace is told so when coming back`(loops: Int)
            async throws
        {
            try await TestNode.run(["loops": loops]) { node in
                let room = try await node.createRoom("grace", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                // Often enough that it comes back on another loop, and on the same one.
                for turn in 0..<4 {
                    let name = "ann\(turn)"
                    let ann = try await TestClient.entered(node, name, room)
                    try await ann.drop()
                    try await away(name, node)
                    var kick = KickRequest(room: room, user: try user(name))
                    kick.options.notifyExt = "turn \(turn)"
                    try await owner.done(.kick(kick))
                    let back = try await TestClient.open(port: node.clientPort)
                    let result = try await back.connect(token: node.token(name), session: ann.session)
                    #expect(result.resumed)
                    let push = try await back.kicked(from: room)
                    #expect(push.reason == .byManager && push.ext == "turn \(turn)")
                    #expect(try await back.refusal(of: .text(room, "x")).code == .notInRoom)
                    // Once.
                    let again = try await TestClient.connected(node, name, session: ann.session)
                    _ = try await again.ask(.ping).get()
                    #expect(await again.items.allSatisfy { if case .push(.kicked) = $0 { false } else { true } })
                }
            }
        }

        @Test func `an anonymous member who is blacklisted stays out, and so does the address until that is lifted`()
            async throws
        {
            try await TestNode.run { node in
                let (room, other) = (try await node.createRoom("out"), try await node.createRoom("other"))
                func anonymous(_ session: SessionID? = nil) async throws -> (TestClient, ConnectResult) {
                    let client = try await TestClient.open(port: node.clientPort)
                    return (client, try await client.connect(ConnectRequest(anonymous: true, session: session)))
                }
                func entry(_ room: RoomID) -> EnterRequest {
                    var request = EnterRequest(room: room)
                    (request.nick, request.avatar) = ("A", "https://a")
                    return request
                }
                let (client, connected) = try await anonymous()
                try await client.enter(entry(room))
                let path = "/v1/rooms/out/members/\(connected.user.text)/blacklist"
                #expect(try await node.api("PUT", path, #"{"enable":true}"#).status == 200)
                #expect(try await client.kicked(from: room).reason == .blacklisted)
                let own = try await client.refusal(of: .enter(entry(room)))
                #expect(own.code == .blacklisted && own.retryAfterMs == nil)
                let (resumed, again) = try await anonymous(connected.session)
                #expect(again.resumed)
                #expect(try await resumed.refusal(of: .enter(entry(room))).retryAfterMs == nil)
                // A new session from there waits; other rooms are open to it, and the room to users.
                let (newcomer, _) = try await anonymous()
                let error = try await newcomer.refusal(of: .enter(entry(room)))
                #expect(error.code == .blacklisted && (1...600_000).contains(error.retryAfterMs ?? 0))
                try await newcomer.enter(entry(other))
                _ = try await TestClient.entered(node, "ann", room)
                #expect(try await node.api("PUT", path, #"{"enable":false}"#).status == 200)
                try await newcomer.enter(entry(room))
                try await resumed.enter(entry(room))
            }
        }

        // MARK: - Seats

        @Test func `a transient queueSet followed at once by exit frees the seat at once, in one 320`() async throws {
            // A grace that no test would wait for.
            var session: [String: Int] = TestNode.highRates
            session["graceSeconds"] = 3600
            try await TestNode.run(["session": session]) { node in
                let room = try await node.createRoom("seats")
                let watcher = try await TestClient.entered(node, "watcher", room)
                for turn in 0..<5 {
                    let ann = try await TestClient.connected(node, "ann", encoding: .json)
                    try await ann.enter(room)
                    let start = await watcher.items.count
                    var seat = QueueSetRequest(room: room, key: "seat \(turn)", value: "v")
                    seat.transient = true
                    let answers = try await ask(ann, [.queueSet(seat), .exit(RoomNameRequest(room: room))])
                    for answer in answers { _ = try answer.get() }
                    let freed = try await watcher.event(.queueBatchChanged, from: start)
                    guard case .queueBatch(.partClear, let elements)? = freed.notification?.data else {
                        throw TestFailure("another change")
                    }
                    #expect(elements.map(\.key) == ["seat \(turn)"])
                    #expect(try await watcher.queue(room).isEmpty)
                }
                #expect(await watcher.notifications(of: room).count { $0.event == .queueBatchChanged } == 5)
            }
        }
    }
}
