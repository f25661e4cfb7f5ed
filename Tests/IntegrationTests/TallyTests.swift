import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension TestClient {
    /// Taps and waits for the total.
    fileprivate func tally(_ room: RoomID, _ key: String = Tally.like, _ delta: Int64 = 1, clientID: String? = nil)
        async throws -> Int64
    {
        let request = TapRequest(room: room, key: key, delta: delta, clientID: clientID)
        guard case .tally(let result) = try await done(.tally(request)) else { throw TestFailure("no total") }
        return result.total
    }

    /// Taps and waits for nothing.
    fileprivate func tap(_ room: RoomID, _ key: String = Tally.like, _ delta: Int64 = 1) async {
        await write(ClientRequest(id: nil, operation: .tally(TapRequest(room: room, key: key, delta: delta))))
    }

    /// Waits until viewers have been told that total.
    fileprivate func told(_ total: Int64, of key: String = Tally.like) async throws {
        _ = try await item("the total \(total) of \(key)") { item -> Void? in
            guard case .push(.tallies(let push)) = item else { return nil }
            return push.totals.contains(TallyCount(key: key, count: total)) ? () : nil
        }
    }

    fileprivate var pushedTotals: [[TallyCount]] {
        items.compactMap { if case .push(.tallies(let push)) = $0 { push.totals } else { nil } }
    }
}

extension IntegrationTests {
    /// Tallies over sockets (PROTOCOL.md, "Tallies").
    @Suite struct TallyTests {
        private func refusal(_ client: TestClient, _ room: RoomID, _ key: String = Tally.like, delta: Int64 = 1)
            async throws -> ErrorCode
        { try await client.refusal(of: .tally(TapRequest(room: room, key: key, delta: delta))).code }

        @Test(arguments: ClientEncoding.allCases)
        func `taps are answered when they are on disk, told to all, and there after a kill`(
            encoding: ClientEncoding
        ) async throws {
            try await TestNode.run(encoding: encoding) { node in
                let room = try await node.createRoom("likes")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                #expect(try await ann.tally(room) == 1)
                for _ in 1...9 { await bob.tap(room, Tally.like, 10) }
                try await ann.told(91)
                try await bob.told(91)
                #expect(try await ann.tally(room, Tally.like, 9, clientID: "once") == 100)
                #expect(try await ann.tally(room, Tally.like, 9, clientID: "once") == 100, "the repeat")
                #expect(try await node.metric("chatroom_taps_total{", labels: "counted") == 91)
                await node.kill()
                try await node.start()
                let eve = try await TestClient.connected(node, "eve")
                let entered = try await eve.enter(EnterRequest(room: room, withTallies: true))
                #expect(entered.tallies == [Tally(key: Tally.like, total: 100)])
                #expect(try await eve.enter(room).tallies == nil, "nobody has asked")
                let again = try await TestClient.entered(node, "ann", room)
                #expect(try await again.tally(room, Tally.like, 9, clientID: "once") == 100)
                #expect(try await again.tally(room) == 101)
            }
        }

        @Test func `who may not speak may not tap, with an answer and without`() async throws {
            try await TestNode.run(["allowAnonymous": true]) { node in
                let room = try await node.createRoom("quiet", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.connected(node, "bob")
                #expect(try await refusal(bob, room) == .notInRoom)
                _ = try await node.api("PUT", "/v1/rooms/quiet/members/ann/mute", #"{"enable":true}"#)
                _ = try await ann.event(.muted)
                #expect(try await refusal(ann, room) == .muted)
                await ann.tap(room, Tally.like, 50)
                _ = try await node.api("PUT", "/v1/rooms/quiet/members/ann/mute", #"{"enable":false}"#)
                _ = try await ann.event(.unmuted)
                #expect(try await ann.tally(room) == 1, "what was tapped while muted is not counted")
                _ = try await node.api("PUT", "/v1/rooms/quiet/mute", #"{"enable":true}"#)
                _ = try await ann.event(.roomMuted)
                #expect(try await refusal(ann, room) == .roomMuted)
                #expect(try await owner.tally(room) == 2)
                let guest = try await TestClient.open(port: node.clientPort)
                _ = try await guest.ask(.connect(ConnectRequest(anonymous: true))).get()
                _ = try await guest.enter(EnterRequest(room: room, nick: "n", avatar: "a"))
                #expect(try await refusal(guest, room) == .forbidden)
                #expect(try await node.metric("chatroom_taps_total{", labels: "dropped") == 54)
            }
        }

        @Test func `keys are the app server's: unknown 404, closed 409, SERVER 403, the 101st 414`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("keys")
                let ann = try await TestClient.entered(node, "ann", room)
                func api(_ method: String, _ path: String, _ body: String? = nil) async throws -> HTTPAnswer {
                    try await node.api(method, "/v1/rooms/keys/tallies" + path, body)
                }
                #expect(try await api("GET", "").body == #"{"tallies":[{"key":"like","total":0,"closed":false}]}"#)
                #expect(try await refusal(ann, room, "wave") == .notFound)
                #expect(
                    try await api("PUT", "/wave", #"{"total":7}"#).body
                        == #"{"key":"wave","total":7,"closed":false}"#)
                #expect(try await ann.tally(room, "wave", 3) == 10)
                try await ann.told(10, of: "wave")
                #expect(
                    try await api("PUT", "/wave", #"{"closed":true}"#).body
                        == #"{"key":"wave","total":10,"closed":true}"#)
                #expect(try await refusal(ann, room, "wave") == .conflict)
                #expect(try await api("POST", "/wave/add", #"{"delta":1}"#).status == 409)
                #expect(try await api("PUT", "/gifts", #"{"by":"SERVER"}"#).status == 200)
                #expect(try await refusal(ann, room, "gifts") == .forbidden)
                #expect(
                    try await api("POST", "/gifts/add", #"{"delta":1000000000}"#).body
                        == #"{"key":"gifts","total":1000000000,"closed":false,"by":"SERVER"}"#)
                #expect(try await api("POST", "/gifts/add", #"{"delta":1000000001}"#).status == 400)
                #expect(try await api("POST", "/gifts/add", #"{"delta":-1000000000}"#).status == 200)
                #expect(try await api("POST", "/gifts/add", #"{"delta":-1}"#).status == 409)
                #expect(try await api("POST", "/none/add", #"{"delta":1}"#).status == 404)
                #expect(try await api("DELETE", "/gifts").status == 200)
                #expect(try await api("DELETE", "/gifts").status == 404)
                #expect(try await api("PUT", "/a%20b", "{}").status == 400)
                #expect(try await api("PUT", "/" + String(repeating: "k", count: 33), "{}").status == 413)
                for number in 1...99 { #expect(try await api("PUT", "/k\(number)").status == 200) }
                let refused = try await api("PUT", "/more")
                #expect(refused.status == 400 && refused.body.contains(#""code":414"#))
                _ = try await node.api("POST", "/v1/rooms/keys/close")
                #expect(try await api("PUT", "/wave").status == 409)
                #expect(try await api("GET", "").status == 200)
            }
        }

        @Test func `a wrong tap without an id gets no answer`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("wrong")
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                try await ann.enter(room)
                let before = await ann.items.count
                for body in [
                    #"{"room":"wrong"}"#, #"{"room":"wrong","key":"a b"}"#, #"{"room":"wrong","key":"like","delta":0}"#,
                ] {
                    await ann.write(text: #"{"tally":\#(body)}"#)
                }
                _ = try await ann.done(.ping)
                #expect(await ann.items.count == before + 1, "the reply to ping")
            }
        }

        @Test func `a viewer that was too slow for totals is told them when it reads again`() async throws {
            let settings = TestNode.highRates.merging(["heartbeatSeconds": 600]) { $1 }
            try await TestNode.run(["session": settings]) { node in
                let room = try await node.createRoom("slow")
                let sender = try await TestClient.entered(node, "sender", room)
                let other = try await TestClient.entered(node, "other", room)
                let slow = try await TestClient.entered(node, "slow", room)
                await slow.socket.stopReading()
                let large = String(repeating: "x", count: 32 * 1024 - 8)
                var count = 0
                while try await node.metric("chatroom_dropped_total", labels: #"cause="slow""#) == 0 {
                    var underWay: [UInt32] = []
                    for _ in 0..<40 { underWay.append(await sender.begin(.text(room, large))) }
                    for id in underWay { _ = try await sender.reply(to: id).get() }
                    count += 40
                    try #require(count < 4000, "a reader that has stopped must lose something")
                }
                // They come behind a loss that has not been told, so the viewer is not given them.
                let gifts = "/v1/rooms/slow/tallies/gifts"
                #expect(try await node.api("PUT", gifts, #"{"total":3}"#).status == 200)
                try await other.told(3, of: "gifts")
                #expect(try await node.api("DELETE", gifts).status == 200)
                #expect(try await sender.tally(room, Tally.like, 7) == 7)
                try await other.told(7)
                await slow.socket.startReading()
                try await slow.told(7)
                #expect(await slow.pushedTotals == [[TallyCount(key: Tally.like, count: 7)]], "gifts are removed")
                #expect(await other.pushedTotals.allSatisfy { $0.count == 1 }, "what lanes alone are told")
            }
        }

        @Test func `beyond its rate a session is told so, or not even that`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("fast")
                let ann = try await TestClient.entered(node, "ann", room)
                let requests = (1...30).map { _ in
                    ClientOperation.tally(TapRequest(room: room, key: "like", delta: 100))
                }
                let answers = try await ann.askAtOnce(requests)
                let counted = answers.count { if case .success = $0 { true } else { false } }
                // 1,000 taps at once, and what flows in while the node reads the others.
                #expect((10..<30).contains(counted))
                for case .failure(let error) in answers {
                    #expect(error.code == .tooOften && error.retryAfterMs != nil)
                }
                let bob = try await TestClient.entered(node, "bob", room)
                let before = await bob.items.count
                for _ in 1...60 { await bob.tap(room) }
                _ = try await bob.done(.ping)
                #expect(await bob.items[before...].allSatisfy { if case .reply(nil, _) = $0 { false } else { true } })
            }
        }

        @Test func `totals are pushed at most every half second, however many tap`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("often")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                // The lapse of time is the subject: on a slow machine fewer taps fall into it, and pushes have as long.
                let begin = ContinuousClock.now
                var sum: Int64 = 0
                while ContinuousClock.now - begin < .milliseconds(1_500) {
                    sum = try await ann.tally(room)
                }
                try await bob.told(sum)
                let elapsed = ContinuousClock.now - begin
                let pushes = await bob.pushedTotals
                #expect(Double(pushes.count) <= elapsed / .milliseconds(500) + 2)
                #expect(pushes.allSatisfy { $0.count == 1 })
                let totals = pushes.map { $0[0].count }
                #expect(totals == totals.sorted() && Set(totals).count == totals.count)
            }
        }
    }
}
