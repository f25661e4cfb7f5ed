import ChatModel
import Foundation
import Testing
import Wire

extension IntegrationTests {
    /// Robots, seats of people who are away, senders, barrage and explain, by the server API.
    @Suite struct RoomCallTests {
        private func call(
            _ node: TestNode, _ method: String, _ path: String, _ body: String, status: Int = 200,
            headers: [String: String] = [:], _ location: SourceLocation = #_sourceLocation
        ) async throws -> [String: Any] {
            let answer = try await node.api(method, "/v1/rooms/hall/\(path)", body, headers: headers)
            #expect(answer.status == status, "\(path) \(body): \(answer)", sourceLocation: location)
            return try answer.fields()
        }

        private func online(_ node: TestNode) async throws -> Int? {
            try await node.api("GET", "/v1/rooms/hall").fields()["online"] as? Int
        }

        private func listed(_ node: TestNode) async throws -> [String] {
            let answer = try await node.api("GET", "/v1/rooms/hall/members?kind=TEMPORARY_REVERSED")
            let members = try answer.fields()["members"] as? [[String: Any]] ?? []
            return members.compactMap { $0["user"] as? String }
        }

        @Test func `a deleted room comes back closed with all that lasts, over a crash, until it is purged`()
            async throws
        {
            try await TestNode.run { node in
                func status(_ method: String, _ target: String, _ body: String? = nil) async throws -> Int {
                    try await node.api(method, "/v1/rooms\(target)", body).status
                }
                func deleted() async throws -> [[String: Any]] {
                    try await node.api("GET", "/v1/rooms?deleted=true").fields()["rooms"] as? [[String: Any]] ?? []
                }
                let room = try await node.createRoom("hall", creator: "ann")
                let ann = try await TestClient.connected(node, "ann")
                let epoch = try await ann.enter(room).epoch
                let first = try await ann.send(room, "before", clientID: "c")
                _ = try await call(node, "PUT", "members/bob/role", #"{"role":"MANAGER"}"#)
                _ = try await call(node, "PUT", "queue/song", #"{"value":"v","owner":"ann"}"#)
                let stats = try await node.api("GET", "/v1/stats").fields()
                #expect(stats["rooms"] as? Int == 1 && stats["activeRooms"] as? Int == 1)

                #expect(try await status("DELETE", "/hall") == 200)
                #expect(try await status("GET", "/hall") == 404)
                #expect(try await deleted().map { $0["id"] as? String } == ["hall"])
                let times = try #require(try await deleted().first)
                let (at, purge) = (times["deletedAt"] as? Int ?? 0, times["purgeAt"] as? Int ?? 0)
                #expect(purge - at == 86_400_000)
                #expect(try await node.api("GET", "/v1/stats").fields()["rooms"] as? Int == 0)
                #expect(try await node.api("GET", "/v1/rooms").body == #"{"rooms":[]}"#)
                await node.kill()
                try await node.start()

                let back = try await node.api("POST", "/v1/rooms/hall/undelete")
                #expect(back.status == 200 && back.body.contains(#""closed":true"#), "\(back)")
                #expect(try await status("POST", "/hall/undelete") == 409)
                #expect(try await deleted().isEmpty)
                #expect(try await status("POST", "/hall/reopen") == 200)
                let again = try await TestClient.connected(node, "ann")
                let entered = try await again.enter(room)
                #expect(entered.epoch == epoch && entered.me.role == .creator)
                #expect(try await again.send(room, "before", clientID: "c") == first, "a retry of before")
                #expect(try await again.wholeHistory(room).contains { $0.text == "before" })
                #expect(try await again.queue(room).map(\.key) == ["song"])
                let bob = try await node.api("GET", "/v1/rooms/hall/members/bob").fields()
                #expect(bob["role"] as? String == "MANAGER")

                #expect(try await status("DELETE", "/hall") == 200)
                #expect(try await status("DELETE", "/hall?now=true") == 200)
                #expect(try await status("POST", "/hall/undelete") == 404)
                #expect(try await status("DELETE", "/hall?now=true") == 404)
                #expect(try await deleted().isEmpty)
                // Its ID can be taken again, also while the room of before could be had back.
                for _ in 0..<2 {
                    #expect(try await status("POST", "", #"{"id":"hall","creator":"eve"}"#) == 200)
                    #expect(try await status("DELETE", "/hall") == 200)
                }
            }
        }

        @Test func `robots count, are listed, told and may be senders, and outlive a crash`() async throws {
            try await TestNode.run(["rooms": ["robots": 3]]) { node in
                let room = try await node.createRoom("hall", creator: "ann")
                let bob = try await TestClient.connected(node, "bob")
                try await bob.enter(room)
                let added = try await call(
                    node, "POST", "robots", #"{"robots":[{"user":"r2","nick":"R2","avatar":"a2"},"c3"]}"#)
                #expect(added["added"] as? [String] == ["r2", "c3"] && added["present"] as? [String] == [])
                let told = try await bob.notification(.enter, of: "r2")
                #expect(told.operator?.nick == "R2")
                // Both came in one turn.
                #expect(told.data == .entered(avatar: "a2", ext: "", role: .guest, online: 3))
                #expect(try await online(node) == 3)
                // Who came at one time is listed in the order of a hash of the user, the same on every node.
                #expect(try await listed(node) == ["bob", "r2", "c3"])

                _ = try await call(node, "POST", "messages", #"{"sender":"r2","type":"TEXT","text":"beep"}"#)
                let beep = try await bob.message("beep")
                #expect(beep.from?.profile == Profile(nick: "R2", avatar: "a2") && beep.from?.role == .guest)
                _ = try await call(node, "POST", "robots", #"{"robots":["x1","x2"]}"#, status: 400)
                let again = try await call(node, "POST", "robots", #"{"robots":["c3","x1"]}"#)
                #expect(again["present"] as? [String] == ["c3"])

                await node.kill()
                try await node.start()
                #expect(try await online(node) == 3)
                let rooms = try await node.api("GET", "/v1/rooms").fields()["rooms"] as? [[String: Any]]
                #expect(rooms?.first?["online"] as? Int == 3)
                let eve = try await TestClient.connected(node, "eve")
                try await eve.enter(room)
                #expect(try await listed(node) == ["r2", "c3", "x1", "eve"])

                let gone = try await call(node, "DELETE", "robots", #"{"robots":["r2","nobody"]}"#)
                #expect(gone["removed"] as? [String] == ["r2"] && gone["missing"] as? [String] == ["nobody"])
                #expect(try await eve.notification(.exit, of: "r2").data == .exited(online: 3))
                _ = try await node.api("POST", "/v1/rooms/hall/members/c3/kick")
                try await eve.notification(.kicked, of: "c3")
                #expect(await eve.events(of: room, about: "c3") == [.kicked], "no 302 besides")
                _ = try await node.api("POST", "/v1/rooms/hall/close")
                _ = try await node.api("POST", "/v1/rooms/hall/reopen")
                #expect(try await online(node) == 0)
            }
        }

        @Test func `a sender shows what the call gives, else what he shows here`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("hall", creator: "ann")
                let bob = try await TestClient.connected(node, "bob")
                _ = try await bob.enter(EnterRequest(room: room, nick: "Bob", avatar: "a-bob", ext: "e-bob"))
                _ = try await call(node, "POST", "messages", #"{"sender":"bob","type":"TEXT","text":"1"}"#)
                #expect(
                    try await bob.message("1").from?.profile
                        == Profile(nick: "Bob", avatar: "a-bob", ext: "e-bob"))
                _ = try await call(
                    node, "POST", "messages", #"{"sender":{"user":"bob","avatar":"new"},"type":"TEXT","text":"2"}"#)
                #expect(
                    try await bob.message("2").from?.profile == Profile(nick: "Bob", avatar: "new", ext: "e-bob"))
                _ = try await call(
                    node, "POST", "messages", #"{"sender":{"user":"away","nick":"A"},"type":"TEXT","text":"3"}"#)
                #expect(try await bob.message("3").from?.profile == Profile(nick: "A"))
                _ = try await call(node, "POST", "messages", #"{"sender":"ann","type":"TEXT","text":"4"}"#)
                #expect(try await bob.message("4").from?.role == .creator)
            }
        }

        @Test func `barrage of one key is shown once, with what its sender shows`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("hall", creator: "ann")
                let bob = try await TestClient.connected(node, "bob")
                _ = try await bob.enter(EnterRequest(room: room, nick: "Bob"))
                for _ in 1...2 {
                    _ = try await call(
                        node, "POST", "barrage", #"{"sender":"bob","text":"once"}"#,
                        headers: ["Idempotency-Key": "b"])
                }
                _ = try await call(node, "POST", "barrage", #"{"text":"last"}"#)
                _ = try await bob.item("the last item") { item -> Bool? in
                    guard case .push(.barrage(let push)) = item else { return nil }
                    return push.items.contains { $0.text == "last" } ? true : nil
                }
                let shown = await bob.items.flatMap { item -> [BarrageItem] in
                    if case .push(.barrage(let push)) = item { push.items } else { [] }
                }
                #expect(shown.filter { $0.text == "once" }.map(\.count) == [1])
                #expect(shown.first?.from?.profile.nick == "Bob")

                await node.kill()
                try await node.start()
                let eve = try await TestClient.entered(node, "eve", room)
                _ = try await call(
                    node, "POST", "barrage", #"{"sender":"bob","text":"once"}"#, headers: ["Idempotency-Key": "b"])
                _ = try await call(node, "POST", "barrage", #"{"text":"end"}"#)
                let first = try await eve.item("a barrage") { item -> String? in
                    guard case .push(.barrage(let push)) = item else { return nil }
                    return push.items.first?.text
                }
                #expect(first == "end", "a key holds over a restart")
            }
        }

        @Test func `explain tells in words and numbers what holds a room up`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("hall", creator: "ann", fields: #","slowModeSeconds":5"#)
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                try await ann.send(room, "hello")
                _ = try await call(node, "PUT", "mute", #"{"enable":true,"notify":false}"#)
                let told = try await call(node, "GET", "explain", "")
                let words = told["summary"] as? [String] ?? []
                #expect(words.contains { $0.contains("is muted") } && words.contains { $0.contains("Slow mode") })
                let log = told["log"] as? [String: Any]
                #expect(log?["leader"] as? String == "n1" && log?["committed"] as? Int == log?["applied"] as? Int)
                let state = told["state"] as? [String: Any]
                #expect(state?["online"] as? Int == 1 && state?["lastSeq"] as? Int == 1)
                let lanes = told["lanes"] as? [[String: Any]]
                #expect(lanes?.compactMap { $0["viewers"] as? Int } == [1])
                #expect(try await node.api("GET", "/v1/rooms/none/explain").status == 404)
            }
        }
    }
}
