import ChatModel
import Foundation
import Testing
import Wire

extension IntegrationTests {
    /// A repeated `Idempotency-Key` does nothing twice and gives the first answer, for the calls that
    /// `MemberCallTests` does not have: rooms from beginning to end, recalls, robots, users and settings.
    @Suite struct HTTPRetryTests {
        private struct Call: Sendable {
            var method: String
            var path: String
            var body = ""
        }

        private static func calls(recalling message: String) -> [Call] {
            [
                // Ended before it is repeated: a repeat must neither bring it back nor end its successor.
                Call(method: "POST", path: "rooms", body: #"{"id":"gone","creator":"ann"}"#),
                Call(method: "DELETE", path: "rooms/gone"),
                Call(method: "POST", path: "rooms", body: #"{"creator":"ann","name":"no id"}"#),
                Call(method: "POST", path: "rooms/hall/close", body: "{}"),
                Call(method: "POST", path: "rooms/hall/reopen"),
                Call(method: "POST", path: "rooms/hall/messages/\(message)/recall", body: "{}"),
                Call(method: "POST", path: "rooms/hall/messages/recall", body: #"{"user":"ann"}"#),
                Call(method: "PUT", path: "rooms/hall/members/bob/blacklist", body: #"{"enable":true}"#),
                Call(method: "PUT", path: "rooms/hall/members/bob/blacklist", body: #"{"enable":false}"#),
                Call(method: "POST", path: "rooms/hall/robots", body: #"{"robots":["r1","r2"]}"#),
                Call(method: "DELETE", path: "rooms/hall/robots", body: #"{"robots":["r1","r3"]}"#),
                Call(method: "POST", path: "rooms/hall/barrage", body: #"{"text":"once"}"#),
                Call(method: "POST", path: "users/eve/messages", body: #"{"type":"TEXT","text":"once"}"#),
                Call(method: "POST", path: "broadcast", body: #"{"type":"TEXT","text":"once"}"#),
                Call(method: "POST", path: "users/eve/offline"),
                Call(method: "PUT", path: "moderation", body: #"{"words":[{"text":"bad","action":"REFUSE"}]}"#),
                Call(method: "PUT", path: "moderation", body: #"{"words":[]}"#),
            ]
        }

        private func perform(_ call: Call, _ number: Int, _ node: TestNode) async throws -> String {
            let answer = try await node.api(
                call.method, "/v1/\(call.path)", call.body, headers: ["Idempotency-Key": "key \(number)"])
            #expect(answer.status == 200, "\(call): \(answer)")
            return answer.body
        }

        @Test func `every other changing call is done once, over reconnect and restart`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("hall", creator: "owner")
                let eve = try await TestClient.connected(node, "eve")
                try await eve.enter(room)
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                let message = try await ann.send(room, "to recall")
                try await ann.send(room, "all of these")
                for client in [eve, ann] { _ = try await client.ask(.exit(RoomNameRequest(room: room))).get() }

                let calls = Self.calls(recalling: message.messageID)
                var first: [String] = []
                for (number, call) in calls.enumerated() { first.append(try await perform(call, number, node)) }
                // What follows is what a repeat would undo, or do again.
                try await node.createRoom("gone", creator: "carl")
                for restarts in [false, true] {
                    if restarts {
                        await node.kill()
                        try await node.start()
                    }
                    let watcher = try await TestClient.connected(node, "eve")
                    try await watcher.enter(room)
                    // The first barrage may still have been on its way.
                    let entered = Int64(Date().timeIntervalSince1970 * 1000)
                    let ann = try await TestClient.connected(node, "ann")
                    try await ann.enter(room)
                    try await ann.send(room, "a bad word, and not recalled")
                    let seq = try await lastSeq(node)
                    for (number, call) in calls.enumerated() {
                        let again = try await perform(call, number, node)
                        #expect(Self.lasting(again) == Self.lasting(first[number]), "restarted \(restarts): \(call)")
                    }
                    #expect(try await lastSeq(node) == seq)
                    try await ann.send(room, "another bad word, and not recalled")
                    try await watcher.message("another bad word, and not recalled")
                    // Nothing was shown again, and nobody was put out or offline again.
                    let told = await watcher.items.filter {
                        switch $0 {
                        case .push(.direct), .push(.broadcast), .push(.kicked): true
                        case .push(.barrage(let push)): push.items.contains { $0.time.milliseconds > entered }
                        default: false
                        }
                    }
                    #expect(told.isEmpty, "\(told)")
                    let gone = try await node.api("GET", "/v1/rooms/gone").fields()
                    #expect(gone["creator"] as? String == "carl", "the room of that name lives on: \(gone)")
                    let texts = try await watcher.wholeHistory(room).filter {
                        $0.text?.hasSuffix("not recalled") == true
                    }
                    #expect(texts.count == (restarts ? 4 : 2))
                    for client in [watcher, ann] { _ = try await client.ask(.exit(RoomNameRequest(room: room))).get() }
                }
            }
        }

        /// Without who is here now.
        private static func lasting(_ body: String) -> NSDictionary? {
            guard var fields = try? JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any] else {
                return nil
            }
            fields["online"] = nil
            return fields as NSDictionary
        }

        private func lastSeq(_ node: TestNode) async throws -> Int {
            guard let seq = try await node.api("GET", "/v1/rooms/hall/queue").fields()["seq"] as? Int else {
                throw TestFailure("no seq")
            }
            return seq
        }
    }
}
