import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Barrage as viewers get it.
    @Suite struct BarrageTests {
        @Test func `ext and style hold to the byte, and HIGH is not for guests`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("live", creator: "owner")
                let ann = try await TestClient.connected(node, "ann")
                let owner = try await TestClient.connected(node, "owner")
                for client in [ann, owner] { try await client.enter(room) }
                func barrage(ext: Int, style: Int) -> ClientOperation {
                    let (ext, style) = (String(repeating: "e", count: ext), String(repeating: "s", count: style))
                    return .barrage(BarrageRequest(room: room, text: "!", ext: ext, style: style))
                }
                _ = try await ann.ask(barrage(ext: 1024, style: 256)).get()
                for (operation, field) in [
                    (barrage(ext: 1025, style: 1), "ext"), (barrage(ext: 1, style: 257), "style"),
                ] {
                    let error = try await ann.refusal(of: operation)
                    #expect(error.code == .tooLarge && error.field == field)
                }
                _ = try await ann.ask(.barrage(BarrageRequest(room: room, text: "guest", priority: .high))).get()
                _ = try await owner.ask(.barrage(BarrageRequest(room: room, text: "owner", priority: .high))).get()
                #expect(try await self.barrage("guest", owner).priority == .normal)
                #expect(try await self.barrage("owner", ann).priority == .high)
            }
        }

        @Test func `a room may have more HIGH ones a second than the node gives`() async throws {
            try await TestNode.run(["rooms": ["highPerSecond": 0]]) { node in
                let room = try await node.createRoom("high", creator: "owner", fields: #","highPerSecond":50"#)
                let ann = try await TestClient.entered(node, "ann", room)
                let owner = try await TestClient.entered(node, "owner", room)
                for number in 0..<30 {
                    _ = try await owner.ask(.barrage(BarrageRequest(room: room, text: "\(number)", priority: .high)))
                        .get()
                }
                for number in 0..<30 { #expect(try await self.barrage("\(number)", ann).priority == .high) }
            }
        }

        /// Beyond what a window can show the gateway refuses them itself: a flood of theirs costs the leader nothing.
        @Test func `a flood of whoever may not speak is refused, each with the reason, and hidden from nobody else`()
            async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("live", creator: "owner")
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                let bob = try await TestClient.connected(node, "bob")
                for client in [ann, bob] { try await client.enter(room) }
                let path = "/v1/rooms/live/members/ann/mute"
                #expect(try await node.api("PUT", path, #"{"enable":true}"#).status < 300)
                _ = try await ann.notification(.muted, of: "ann")
                for frame in 0..<8 {
                    let requests = (0..<250).map { number in
                        #"{"id":\#(1000 + frame * 250 + number),"barrage":{"room":"live","text":"!"}}"#
                    }
                    await ann.write(text: requests.joined(separator: "\n"))
                }
                // Those that the gateway refuses itself overtake those that the leader does.
                func refusals() async -> [ErrorCode] {
                    await ann.items.compactMap { item in
                        if case .reply(let id?, .failure(let error)) = item, id >= 1000 { error.code } else { nil }
                    }
                }
                try await poll("each is refused") { await refusals().count == 2000 }
                #expect(await refusals().allSatisfy { $0 == .muted })
                _ = try await bob.ask(.barrage(BarrageRequest(room: room, text: "seen"))).get()
                _ = try await self.barrage("seen", bob)
            }
        }

        @Test func `in a crowd, too, who may not speak is refused, and words are looked for`() async throws {
            try await TestNode.run(["rooms": ["barragePerViewer": 2]]) { node in
                let room = try await node.createRoom("flood", creator: "owner")
                let words = #"{"words":[{"text":"darn","action":"REPLACE"},{"text":"heck","action":"REFUSE"}]}"#
                #expect(try await node.api("PUT", "/v1/moderation", words).status < 300)
                let ann = try await TestClient.connected(node, "ann")
                let bob = try await TestClient.connected(node, "bob")
                let cid = try await TestClient.connected(node, "cid")
                for client in [ann, bob, cid] { try await client.enter(room) }
                func crowd(_ part: String) async throws {
                    for number in 1...20 {
                        _ = await bob.begin(.barrage(BarrageRequest(room: room, text: "\(part) \(number)")))
                    }
                    // It is answered when all of them have been judged, or are on their way.
                    _ = try await bob.ask(.ping)
                }
                try await crowd("first")
                _ = try await ann.ask(.barrage(BarrageRequest(room: room, text: "a darn thing"))).get()
                let heck = ClientOperation.barrage(BarrageRequest(room: room, text: "what the heck"))
                #expect(try await ann.refusal(of: heck).code == .rejected)
                _ = try await self.barrage("a **** thing", ann)
                #expect(try await node.api("PUT", "/v1/rooms/flood/members/ann/mute", #"{"enable":true}"#).status < 300)
                // Beyond the budget it is the gateway who judges, by what it has been told: before the clients are.
                _ = try await ann.notification(.muted, of: "ann")
                try await crowd("second")
                let operation = ClientOperation.barrage(BarrageRequest(room: room, text: "muted"))
                #expect(try await ann.refusal(of: operation).code == .muted)
                #expect(try await node.api("PUT", "/v1/rooms/flood/mute", #"{"enable":true}"#).status < 300)
                try await bob.wait(for: "the news that the room is muted") {
                    await bob.notifications(of: room).contains { $0.event == .roomMuted } ? () : nil
                }
                #expect(try await bob.refusal(of: operation).code == .roomMuted)
                for client in [ann, cid] {
                    try await client.wait(for: "41 items or their count") {
                        await total(client) + Int64(skipped(client)) < 41 ? nil : ()
                    }
                    #expect(await total(client) + Int64(skipped(client)) == 41)
                }
                #expect(await !shown(cid).contains("muted"))
            }
        }

        @Test func `the server API's barrage shows the sender as it is here`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("live", creator: "owner")
                let ann = try await TestClient.connected(node, "ann")
                let owner = try await TestClient.connected(node, "owner")
                try await ann.enter(room)
                try await owner.enter(EnterRequest(room: room, nick: "Olga", avatar: "https://example.org/o.png"))
                let calls = [
                    #"{"sender":{"user":"owner"},"text":"here","priority":"HIGH"}"#,
                    #"{"sender":{"user":"owner","nick":"Boss"},"text":"named"}"#,
                    #"{"sender":{"user":"away","nick":"Away"},"text":"away"}"#, #"{"text":"system"}"#,
                ]
                for call in calls { #expect(try await node.api("POST", "/v1/rooms/live/barrage", call).status < 300) }
                let here = try await self.barrage("here", ann)
                #expect(here.from?.profile.nick == "Olga" && here.from?.role == .creator && here.priority == .high)
                #expect(here.from?.profile.avatar == "https://example.org/o.png")
                let named = try await self.barrage("named", ann)
                #expect(named.from?.profile.nick == "Boss" && named.from?.profile.avatar == "https://example.org/o.png")
                let away = try await self.barrage("away", ann)
                #expect(away.from?.profile.nick == "Away" && away.from?.role == .guest)
                #expect(try await self.barrage("system", ann).from == nil)
            }
        }

        private func barrage(_ text: String, _ client: TestClient) async throws -> BarrageItem {
            try await client.item("the barrage \(text)") { item in
                guard case .push(.barrage(let push)) = item else { return nil }
                return push.items.first { $0.text == text }
            }
        }

        private func items(_ client: TestClient) async -> [BarrageItem] {
            await client.items.flatMap { item -> [BarrageItem] in
                if case .push(.barrage(let push)) = item { push.items } else { [] }
            }
        }

        private func shown(_ client: TestClient) async -> [String] { await items(client).map(\.text) }

        private func total(_ client: TestClient) async -> Int64 { await items(client).reduce(0) { $0 + $1.count } }

        private func skipped(_ client: TestClient) async -> Int {
            await client.items.reduce(0) { sum, item in
                if case .push(.skipped(let push)) = item { sum + Int(push.barrage) } else { sum }
            }
        }
    }
}
