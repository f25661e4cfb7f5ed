import ControlClient
import FoundationEssentials
import HTTPWebSocket
import Wire

extension ConformanceCheck {
    static let connecting: [ConformanceCheck] = [
        .init("2", "a path other than /v1/ws is refused with HTTP 404") { run in
            try expect(try await run.handshakeStatus(path: "/v1/other") == 404, "it was not")
        },
        .init("2", "an Origin that is neither the request's own host nor allowed is refused with HTTP 403") { run in
            try expect(
                try await run.handshakeStatus(origin: "https://elsewhere.example") == 403, "a foreign one was not")
            try expect(try await run.handshakeStatus(origin: "null") == 403, "null was not")
            let own = run.clientOrigin
            try expect(try await run.handshakeStatus(origin: own) == nil, "the own host was refused")
        },
        .init("2", "no subprotocol offered means JSON") { run in
            let client = try await run.open(subprotocols: [])
            try await client.ask("connect", ["token": .text(try await run.token(run.name("ann")))])
        },
        .init("2", "the binary subprotocol is accepted, and a text frame on it closes with 1003") { run in
            let client = try await run.open(subprotocols: ["chatroom.v1.protobuf"])
            try expect(await client.subprotocol == "chatroom.v1.protobuf", "another subprotocol was chosen")
            await client.write(text: "{}")
            let code = try await client.closing()
            try expect(code == 1003, "closed with \(code.map(String.init) ?? "no code")")
        },
        .init("2 connect", "connect answers session, user, anonymous, heartbeatSeconds, time and gateways") { run in
            let user = run.name("ann")
            let client = try await run.open()
            let answer = try await client.ask("connect", ["token": .text(try await run.token(user))])
            try expect(answer["user"], is: .text(user), "user")
            try expect(answer["anonymous"], is: false, "anonymous")
            try expect(answer["session"]?.text?.isEmpty == false, "there is no session")
            try expect((answer["session"]?.text?.utf8.count ?? 99) <= 64, "the session ID is longer than 64 bytes")
            try expect((answer["heartbeatSeconds"]?.integer ?? 0) > 0, "there is no heartbeatSeconds")
            try expect((answer["time"]?.integer ?? 0) > 1_600_000_000_000, "time is not in Unix milliseconds")
            guard case .array = answer["gateways"] else { throw Deviation("there is no list gateways") }
        },
        .init("2 connect", "any other operation before connect is refused with 401") { run in
            let client = try await run.open()
            try expect(try await client.refusal("ping"), code: 401)
        },
        .init("2 connect", "a refused token is answered 401, then closed with 4401") { run in
            let client = try await run.open()
            try expect(try await client.refusal("connect", ["token": "not.a.token"]), code: 401)
            try expect(try await client.closing() == 4401, "the close code is another")
        },
        .init("2 connect", "several requests in one frame, divided by newlines, are all answered") { run in
            let client = try await run.connected(run.name("ann"))
            await client.write(text: #"{"id":701,"ping":{}}"# + "\n" + #"{"id":702,"ping":{"unknown":[1]},"x":null}"#)
            for id: Int64 in [701, 702] {
                try expect(try await client.reply(to: id)["ping"]?["time"]?.integer != nil, "\(id) has no time")
            }
        },
        .init("2 connect", "connect with a held session takes it over: resumed, the old connection closes with 4410") {
            run in
            let (user, room) = (run.name("ann"), try await run.room())
            let watcher = try await run.entered(room, run.name("bob"))
            let old = try await run.open()
            let token = try await run.token(user)
            let session = try await old.ask("connect", ["token": .text(token)])["session"]
            try await old.ask("enter", ["room": .text(room)])
            try await watcher.notification(301) { $0["targets"]?.items.first?["user"]?.text == user }
            let new = try await run.open()
            let answer = try await new.ask("connect", ["token": .text(token), "session": session ?? .null])
            try expect(answer["resumed"], is: true, "resumed")
            try expect(answer["session"], is: session, "the session")
            try expect(try await old.closing() == 4410, "the old connection's close code is another")
            try await watcher.send(room, "after")
            let events = await watcher.pushes("message").compactMap { $0["event"]?.integer }
            try expect(!events.contains(302), "302 was shown")
        },
        .init("2 connect", "an unknown session just opens a new one, without resumed") { run in
            let client = try await run.open()
            let token = try await run.token(run.name("ann"))
            let answer = try await client.ask("connect", ["token": .text(token), "session": "no-such-session"])
            try expect(answer["resumed"], is: nil, "resumed")
            try expect(answer["session"]?.text != "no-such-session", "the unknown session was adopted")
        },
        .init("2 Entry", "an anonymous client needs nick and avatar, and only listens") { run in
            let room = try await run.room()
            let client = try await run.anonymous()
            _ = try await client.refusal("enter", ["room": .text(room)])
            let entered = try await client.ask("enter", ["room": .text(room), "nick": "N", "avatar": "a"])
            try expect(entered["me"]?["role"], is: "ANONYMOUS", "the role")
            try expect(try await client.sendRefusal(room), code: 403)
            try expect(try await client.refusal("barrage", ["room": .text(room), "text": "b"]), code: 403)
            try expect(try await client.refusal("members", ["room": .text(room), "kind": "FIXED"]), code: 403)
            try expect(
                try await client.refusal("queueSet", ["room": .text(room), "key": "k", "value": "v"]), code: 403)
        },
        .init("2 Heartbeat", "a connection without connect is closed with 4408 after 10 s", pace: .waiting) { run in
            let client = try await run.open()
            try expect(try await client.closing(limit: .seconds(20)) == 4408, "the close code is another")
        },
        .init("2 Heartbeat", "an unfinished HTTP handshake is cut after 10 s", pace: .waiting) { run in
            let client = try await run.silentConnection()
            await client.write(Array("GET /v1/ws HTTP/1.1\r\nHost: x\r\n".utf8))
            _ = try await client.closing(limit: .seconds(20))
        },
    ]

    static let refusedFrames: [ConformanceCheck] = [
        .init("2", "malformed JSON answers 400 without id, and the connection lives on") { run in
            let client = try await run.connected(run.name("ann"))
            await client.write(text: "{\"id\":1,")
            try expect(try await client.errorWithoutID(), code: 400)
            try await client.ask("ping")
        },
        .init("2", "the tenth malformed JSON in a row closes with 1008") { run in
            let client = try await run.connected(run.name("ann"))
            for _ in 1...10 { await client.write(text: "no json") }
            try expect(try await client.closing() == 1008, "the close code is another")
        },
        .init("2", "nine malformed ones do not close") { run in
            let client = try await run.connected(run.name("ann"))
            for _ in 1...9 { await client.write(text: "no json") }
            try await client.ask("ping")
        },
        .init("2", "a binary frame on the JSON subprotocol closes with 1003") { run in
            let client = try await run.connected(run.name("ann"))
            await client.write(.binary, [1, 2, 3])
            try expect(try await client.closing() == 1003, "the close code is another")
        },
        .init("2", "a frame over 1 MB closes with 1009") { run in
            let client = try await run.connected(run.name("ann"))
            await client.write(.text, [UInt8](repeating: UInt8(ascii: " "), count: 1_048_577))
            try expect(try await client.closing() == 1009, "the close code is another")
        },
        .init("2", "text that is not UTF-8 closes with 1007") { run in
            let client = try await run.connected(run.name("ann"))
            await client.write(.text, [0x22, 0xFF, 0xFE, 0x22])
            try expect(try await client.closing() == 1007, "the close code is another")
        },
        .init("2", "a frame without a mask closes with 1002") { run in
            let client = try await run.connected(run.name("ann"))
            await client.write([0x81, 0x02, 0x7B, 0x7D])
            try expect(try await client.closing() == 1002, "the close code is another")
        },
    ]

    static let tokens: [ConformanceCheck] = [
        .init("3", "a session is told token when at most 60 s are left") { run in
            let client = try await run.connected(run.name("ann"), claims: ["ttlSeconds": 40])
            let push = try await client.push("token")
            try expect((1...40).contains(push["expiresInSeconds"]?.integer ?? 0), "expiresInSeconds is \(push.line)")
        },
        .init("3", "refresh takes a new token of the same user, and answers expiresAt") { run in
            let user = run.name("ann")
            let client = try await run.connected(user)
            let answer = try await client.ask("refresh", ["token": .text(try await run.token(user))])
            try expect((answer["expiresAt"]?.integer ?? 0) > 1_600_000_000_000, "expiresAt is not in milliseconds")
        },
        .init("3", "revocation: kicked with reason 6, closed with 4401, older tokens refused, later ones accepted") {
            run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.entered(room, user)
            let older = try await run.token(user)
            try await run.done("POST", ["users", user, "revoke"])
            try expect(try await client.push("kicked")["reason"], is: 6, "the reason")
            try expect(try await client.closing() == 4401, "the close code is another")
            let refused = try await run.open()
            try expect(try await refused.refusal("connect", ["token": .text(older)]), code: 401)
            _ = try await run.connected(user)
        },
        .init("3", "force offline closes with 4403") { run in
            let user = run.name("ann")
            let client = try await run.connected(user)
            try await run.done("POST", ["users", user, "offline"])
            try expect(try await client.closing() == 4403, "the close code is another")
        },
    ]

    static let entering: [ConformanceCheck] = [
        .init("2 enter", "enter answers room, me, epoch and seq") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let client = try await run.connected(user)
            let answer = try await client.ask("enter", ["room": .text(room), "nick": "Ann", "avatar": "a", "ext": "e"])
            try expect(answer["room"]?["id"], is: .text(room), "room.id")
            try expect(answer["me"]?["user"], is: .text(user), "me.user")
            try expect(answer["me"]?["nick"], is: "Ann", "me.nick")
            try expect(answer["me"]?["role"], is: "GUEST", "me.role")
            try expect(answer["me"]?["online"], is: true, "me.online")
            try expect(answer["epoch"]?.text?.isEmpty == false, "there is no epoch")
            try expect(answer["seq"]?.integer != nil, "there is no seq")
            for field in [
                "name", "creator", "entry", "queueLevel", "enterExitNotify", "muted", "closed", "online",
                "createdAt",
            ] { try expect(answer["room"]?[field] != nil, "room has no \(field)") }
        },
        .init("2 enter", "a room that does not exist is 404") { run in
            let client = try await run.connected(run.name("ann"))
            try expect(try await client.refusal("enter", ["room": .text(run.name("none"))]), code: 404)
        },
        .init("2 enter", "who is not in the room gets 13007") { run in
            let room = try await run.room()
            let client = try await run.connected(run.name("ann"))
            try expect(try await client.sendRefusal(room), code: 13007)
        },
        .init("2", "one connection serves 10 rooms, and not 11 (13008)") { run in
            let client = try await run.connected(run.name("ann"))
            for _ in 1...10 { try await client.ask("enter", ["room": .text(try await run.room())]) }
            let room = try await run.room()
            try expect(try await client.refusal("enter", ["room": .text(room)]), code: 13008, waits: true)
        },
        .init("2 Entry", "a room for USERS lets no anonymous client in (403)") { run in
            let room = try await run.room(["entry": "USERS"])
            let client = try await run.anonymous()
            try expect(
                try await client.refusal("enter", ["room": .text(room), "nick": "N", "avatar": "a"]), code: 403)
        },
        .init("2 Entry", "an INVITED room takes fixed members and tokens that name it, else 403") { run in
            let (user, room) = (run.name("ann"), try await run.room(["entry": "INVITED"]))
            let stranger = try await run.connected(user)
            try expect(try await stranger.refusal("enter", ["room": .text(room)]), code: 403)
            let named = try await run.connected(run.name("bob"), claims: ["rooms": [.text(room)]])
            try await named.ask("enter", ["room": .text(room)])
            try await run.done("PUT", ["rooms", room, "members", user, "role"], ["role": "NORMAL"])
            try await stranger.ask("enter", ["room": .text(room)])
        },
        .init("2 Entry", "a token with rooms enters only those") { run in
            let (named, other) = (try await run.room(), try await run.room())
            let client = try await run.connected(run.name("ann"), claims: ["rooms": [.text(named)]])
            try await client.ask("enter", ["room": .text(named)])
            try expect(try await client.refusal("enter", ["room": .text(other)]), code: 403)
        },
        .init("2 Same user", "a newer session of the same user in a room kicks the older one with reason 3") { run in
            let (user, room) = (run.name("ann"), try await run.room())
            let older = try await run.entered(room, user)
            _ = try await run.entered(room, user)
            try expect(try await older.push("kicked")["reason"], is: 3, "the reason")
        },
    ]
}
