import ChatModel
import HTTPWebSocket
import Testing
import Wire

extension IntegrationTests {
    /// The two subprotocols say the same.
    @Suite struct EncodingTests {
        @Test func `people of both subprotocols see the same in one room`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("mixed", creator: "ann")
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                let alone = try await ann.enter(room)
                try await ann.send(room, "before")
                let bob = try await TestClient.connected(node, "bob", encoding: .protobuf)
                let entered = try await bob.enter(room, since: 0, epoch: alone.epoch)
                #expect(entered.recovered == true && (entered.missed ?? []).compactMap(\.text) == ["before"])
                try await ann.notification(.enter, of: "bob")
                for turn in 1...20 {
                    try await (turn.isMultiple(of: 2) ? ann : bob).send(room, "message \(turn)")
                }
                _ = try await ann.ask(.setManager(UserFlagRequest(room: room, user: bob.user, enable: true))).get()
                try await ann.notification(.managerSet, of: "bob")
                try await bob.notification(.managerSet, of: "bob")
                _ = try await bob.ask(.barrage(BarrageRequest(room: room, text: "whoosh"))).get()
                let shown = try await ann.barrage("whoosh")
                #expect(try await bob.barrage("whoosh") == shown)
                let annSaw = await ann.messages(of: room).filter { ($0.seq ?? 0) > 1 }
                #expect(await bob.messages(of: room).filter { $0.seq != nil } == annSaw && annSaw.count == 21)
                // Only one of the two is left, then both again.
                _ = try await ann.ask(.exit(RoomNameRequest(room: room))).get()
                try await bob.notification(.exit, of: "ann")
                try await bob.send(room, "alone")
                try await bob.message("alone")
                let again = try await ann.enter(room, since: 22, epoch: alone.epoch)
                #expect((again.missed ?? []).compactMap(\.text) == ["alone"])
                try await bob.send(room, "together")
                try await ann.message("together")
                try await bob.message("together")
            }
        }

        @Test func `a session comes back with the other subprotocol`() async throws {
            try await TestNode.run(["loops": 2]) { node in
                let room = try await node.createRoom("changing")
                var holder = try await TestClient.connected(node, "ann", encoding: .json)
                let first = try await holder.enter(room)
                let session = await holder.session
                var seq: UInt64 = 0
                for turn in 1...6 {
                    let encoding = turn.isMultiple(of: 2) ? ClientEncoding.json : .protobuf
                    let newer = try await TestClient.open(port: node.clientPort, encoding: encoding)
                    let result = try await newer.connect(token: node.token("ann"), session: session)
                    #expect(result.resumed)
                    #expect(try await holder.closing() == 4410)
                    let again = try await newer.enter(room, since: seq, epoch: first.epoch)
                    #expect(again.recovered == true && (again.missed ?? []).isEmpty)
                    try await newer.send(room, "turn \(turn)")
                    seq += 1
                    #expect(try await newer.message("turn \(turn)").seq == seq)
                    holder = newer
                }
            }
        }

        @Test func `the subprotocol is negotiated`() async throws {
            try await TestNode.run { node in
                let cases: [(offered: String?, answer: String, chosen: String?)] = [
                    (nil, "101", nil), ("chatroom.v1.json", "101", "chatroom.v1.json"),
                    ("chatroom.v1.protobuf", "101", "chatroom.v1.protobuf"),
                    ("chatroom.v2.json, chatroom.v1.protobuf, chatroom.v1.json", "101", "chatroom.v1.protobuf"),
                    ("chatroom.v2.json", "400", nil), ("CHATROOM.V1.JSON", "400", nil), ("chatroom.v1", "400", nil),
                ]
                for (offered, status, chosen) in cases {
                    let socket = TestSocket()
                    try await socket.open(port: node.clientPort)
                    let line = offered.map { "Sec-WebSocket-Protocol: \($0)\r\n" } ?? ""
                    await socket.write(
                        Array(("GET /v1/ws HTTP/1.1\r\n" + HostileInputTests.upgrade + line + "\r\n").utf8))
                    let answer = try await socket.received("the answer") { bytes -> String? in
                        let text = String(decoding: bytes, as: UTF8.self)
                        return text.contains("\r\n\r\n") ? text : nil
                    }
                    #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(offered ?? "none"): \(answer)")
                    if let chosen {
                        #expect(answer.contains("Sec-WebSocket-Protocol: \(chosen)\r\n"))
                    } else {
                        #expect(!answer.contains("Sec-WebSocket-Protocol"))
                    }
                    await socket.close()
                }
                // None offered is JSON.
                let client = TestClient(encoding: .json)
                #expect(try await client.handshake(port: node.clientPort, headers: [], subprotocols: []) == nil)
                try await client.connect(token: node.token("ann"))
            }
        }
    }
}
