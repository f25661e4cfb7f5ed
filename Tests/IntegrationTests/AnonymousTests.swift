import ChatModel
import Foundation
import Testing
import Wire

/// The conditions of entering, and the rights of anonymous members (PROTOCOL.md, "Entry", "Mutes").
struct AnonymousTests {
    private static func anonymous(_ node: TestNode) async throws -> TestClient {
        let client = try await TestClient.open(port: node.clientPort)
        var request = ConnectRequest(token: "nonsense, which is ignored")
        request.anonymous = true
        #expect(try await client.connect(request).anonymous)
        return client
    }

    private static func entry(_ room: RoomID, nick: String? = "A", avatar: String? = "https://a") -> EnterRequest {
        var request = EnterRequest(room: room)
        (request.nick, request.avatar) = (nick, avatar)
        return request
    }

    @Test func `anonymous entry is off until it is allowed`() async throws {
        try await TestNode.run(["allowAnonymous": false]) { node in
            let room = try await node.createRoom("live")
            let client = try await Self.anonymous(node)
            #expect(try await client.refusal(of: .enter(Self.entry(room))).code == .forbidden)
        }
    }

    @Test func `an anonymous member needs nick and avatar, sees everything, and may change nothing`() async throws {
        try await TestNode.run { node in
            let room = try await node.createRoom("live")
            let client = try await Self.anonymous(node)
            for request in [Self.entry(room, nick: nil), Self.entry(room, nick: "")] {
                let error = try await client.refusal(of: .enter(request))
                #expect(error.code == .badParameter && error.field == "nick")
            }
            #expect(try await client.refusal(of: .enter(Self.entry(room, avatar: nil))).field == "avatar")
            let entered = try await client.enter(Self.entry(room))
            #expect(entered.me.role == .anonymous && entered.room.online == 1)

            let ann = try await TestClient.connected(node, "ann")
            try await ann.enter(room)
            try await ann.send(room, "hello")
            try await client.message("hello")
            #expect(try await client.history(room).messages.contains { $0.text == "hello" })
            _ = try await client.ask(.room(RoomNameRequest(room: room))).get()
            _ = try await client.ask(.queue(QueueRequest(room: room))).get()

            let user = try #require(UserID("ann"))
            var operations = [#""refresh":{"token":"x"}"#]
            let inRoom = [
                "send": #""clientId":"c","type":"TEXT","text":"x""#, "barrage": #""text":"x""#,
                "recall": #""messageId":"m""#, "updateRoom": #""set":{"name":"x"}"#,
                "members": #""kind":"FIXED""#, "membersById": #""users":["\#(user)"]"#,
                "updateMe": #""set":{"nick":"x"}"#,
                "setManager": #""user":"ann","enable":true"#, "setMember": #""user":"ann","enable":true"#,
                "setBlacklist": #""user":"ann","enable":true"#, "setMute": #""user":"ann","enable":true"#,
                "tempMute": #""user":"ann","seconds":5"#, "kick": #""user":"ann""#, "muteRoom": #""enable":true"#,
                "queueSet": #""key":"k","value":"v""#, "queueSetMany": #""values":{"k":"v"}"#,
                "queueTake": #""key":"k""#,
            ]
            for (name, fields) in inRoom { operations.append(#""\#(name)":{"room":"live",\#(fields)}"#) }
            operations.append(#""queueClear":{"room":"live"}"#)
            for (offset, operation) in operations.enumerated() {
                let id = UInt32(1_000 + offset)
                await client.write(text: #"{"id":\#(id),\#(operation)}"#)
                guard case .failure(let error) = try await client.reply(to: id) else {
                    Issue.record("\(operation) was not refused")
                    continue
                }
                #expect(error.code == .forbidden, "\(operation): \(error)")
            }
            #expect(try await ann.history(room).messages.count == 1)
        }
    }

    @Test func `each entry level lets in whom it names`() async throws {
        try await TestNode.run { node in
            let rooms = try await [
                node.createRoom("anyone"), node.createRoom("users", fields: #","entry":"USERS""#),
                node.createRoom("invited", fields: #","entry":"INVITED""#),
            ]
            let role = #"{"role":"NORMAL"}"#
            #expect(try await node.api("PUT", "/v1/rooms/invited/members/fixed/role", role).status == 200)
            func levels(_ client: TestClient) async throws -> [Bool] {
                var entered: [Bool] = []
                for room in rooms {
                    switch try await client.ask(.enter(Self.entry(room))) {
                    case .success: entered.append(true)
                    case .failure(let error):
                        #expect(error.code == .forbidden)
                        entered.append(false)
                    }
                }
                return entered
            }
            #expect(try await levels(Self.anonymous(node)) == [true, false, false])
            #expect(try await levels(TestClient.connected(node, "ann")) == [true, true, false])
            #expect(try await levels(TestClient.connected(node, "fixed")) == [true, true, true])
            #expect(try await levels(TestClient.connected(node, "owner")) == [true, true, true])
            #expect(try await levels(TestClient.connected(node, "guest", rooms: ["invited"])) == [false, false, true])
            #expect(try await levels(TestClient.connected(node, "none", rooms: [])) == [false, false, false])
        }
    }
}
