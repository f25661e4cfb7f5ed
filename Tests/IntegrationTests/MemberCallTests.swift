import ChatModel
import Foundation
import Testing
import Wire

extension IntegrationTests {
    /// Roles, mutes, kicks and the queue by the server API, as the people in the room see them.
    @Suite struct MemberCallTests {
        private func member(_ answer: HTTPAnswer) throws -> [String: Any] {
            guard let member = try answer.fields()["member"] as? [String: Any] else {
                throw TestFailure("no member: \(answer)")
            }
            return member
        }

        private func change(
            _ node: TestNode, _ path: String, _ body: String, method: String = "PUT", status: Int = 200,
            _ location: SourceLocation = #_sourceLocation
        ) async throws -> HTTPAnswer {
            let answer = try await node.api(method, "/v1/rooms/hall" + (path.isEmpty ? "" : "/\(path)"), body)
            #expect(answer.status == status, "\(path) \(body): \(answer)", sourceLocation: location)
            return answer
        }

        @Test func `roles and mutes are set for people here and away, and told`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("hall", creator: "ann")
                let bob = try await TestClient.connected(node, "bob")
                _ = try await bob.enter(EnterRequest(room: room, nick: "Bob"))
                let manager = try await change(node, "members/bob/role", #"{"role":"MANAGER","operator":"ann"}"#)
                let answered = try member(manager)
                #expect(answered["role"] as? String == "MANAGER" && answered["nick"] as? String == "Bob")
                let told = try await bob.notification(.managerSet, of: "bob")
                #expect(told.operator?.user.text == "ann" && told.targets.first?.nick == "Bob")
                _ = try await change(node, "members/bob/role", #"{"role":"GUEST"}"#)
                try await bob.notification(.managerRemoved, of: "bob")
                #expect(try await bob.notification(.fixedMemberRemoved, of: "bob").operator == nil)

                // Nobody needs to be here.
                _ = try await change(node, "members/carl/role", #"{"role":"NORMAL","notify":false}"#)
                let dora = try member(try await change(node, "members/dora/mute", #"{"enable":true}"#))
                #expect(dora["role"] as? String == "RESTRICTED")
                let carl = try await node.api("GET", "/v1/rooms/hall/members/carl")
                #expect(try carl.fields()["role"] as? String == "NORMAL")
                #expect(await bob.events(of: room, about: "carl").isEmpty)
                _ = try await change(node, "members/carl/kick", "", method: "POST", status: 404)

                _ = try await change(node, "members/bob/tempMute", #"{"seconds":60,"notifyExt":"calm down"}"#)
                #expect(try await bob.notification(.temporarilyMuted, of: "bob").notifyExt == "calm down")
                #expect(try await bob.refusal(of: .text(room, "x")).code == .muted)
                let most = try await change(node, "members/bob/tempMute", #"{"seconds":2592000}"#)
                #expect(try member(most)["tempMuteSeconds"] as? Int == 2_592_000)
                _ = try await change(node, "members/bob/tempMute", #"{"seconds":2592001}"#, status: 400)
                _ = try await change(node, "members/bob/tempMute", #"{"seconds":0}"#)
                try await bob.notification(.temporaryMuteLifted, of: "bob")
                try await bob.send(room, "again")

                _ = try await change(node, "mute", #"{"enable":true}"#)
                #expect(try await bob.refusal(of: .text(room, "x")).code == .roomMuted)
                // Neither a room's mute nor a user's holds for the server API.
                _ = try await change(
                    node, "messages", #"{"sender":"bob","type":"TEXT","text":"by the app"}"#, method: "POST")
                #expect(try await bob.message("by the app").from?.profile.nick == "Bob")
                _ = try await change(node, "mute", #"{"enable":false}"#)
            }
        }

        @Test func `a repeated Idempotency-Key gives the first answer, also after a crash, and to no other call`()
            async throws
        {
            try await TestNode.run { node in
                try await node.createRoom("hall", creator: "ann")
                let calls: [(String, String, String)] = [
                    ("PUT", "members/bob/mute", #"{"enable":true}"#),
                    ("PUT", "members/bob/tempMute", #"{"seconds":900}"#),
                    ("PUT", "members/bob/role", #"{"role":"MANAGER"}"#),
                    ("PUT", "queue/seat", #"{"value":"v","owner":"bob"}"#),
                    ("PATCH", "queue", #"{"values":{"seat":"w","none":"x"}}"#), ("POST", "queue/take", "{}"),
                    ("PUT", "mute", #"{"enable":true}"#), ("POST", "messages", #"{"type":"TEXT","text":"once"}"#),
                    ("POST", "members/bob/kick", #"{"banSeconds":60}"#), ("DELETE", "queue", ""),
                    ("PATCH", "", #"{"name":"first"}"#),
                ]
                func all() async throws -> [String] {
                    var answers: [String] = []
                    for (number, call) in calls.enumerated() {
                        let path = call.1.isEmpty ? "/v1/rooms/hall" : "/v1/rooms/hall/\(call.1)"
                        let answer = try await node.api(
                            call.0, path, call.2, headers: ["Idempotency-Key": "key \(number)"])
                        #expect(answer.status == 200, "\(call): \(answer)")
                        answers.append(answer.body)
                    }
                    return answers
                }
                let first = try await all()
                let seq = try await lastSeq(node)
                // What changes meanwhile does not show in a repeat.
                _ = try await change(node, "", #"{"name":"second","notify":false}"#, method: "PATCH")
                #expect(try await all() == first)
                await node.kill()
                try await node.start()
                #expect(try await all() == first)
                #expect(try await lastSeq(node) == seq)
                // Of another kind of result, and of the same: bob was muted with key 0.
                for key in ["key 3", "key 0"] {
                    for _ in 0..<2 {
                        let other = try await node.api(
                            "PUT", "/v1/rooms/hall/members/eve/mute", #"{"enable":true}"#,
                            headers: ["Idempotency-Key": key])
                        #expect(try member(other)["user"] as? String == "eve", "\(key): \(other)")
                    }
                }
                let eve = try await node.api("GET", "/v1/rooms/hall/members/eve")
                #expect(try eve.fields()["muted"] as? Bool == true)
            }
        }

        private func lastSeq(_ node: TestNode) async throws -> Int {
            guard let seq = try await node.api("GET", "/v1/rooms/hall/queue").fields()["seq"] as? Int else {
                throw TestFailure("no seq")
            }
            return seq
        }
    }
}
