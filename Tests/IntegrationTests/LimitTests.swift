import ChatModel
import Foundation
import Testing
import Wire

extension IntegrationTests {
    /// Every limit as a client meets it: the largest that is allowed, and one more.
    @Suite struct LimitTests {
        @Test func `lengths hold to the byte`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("lengths")
                let ann = try await TestClient.connected(node, "ann")
                func letters(_ count: Int) -> String { String(repeating: "a", count: count) }
                func enter(nick: Int = 1, avatar: Int = 1, ext: Int = 1, notifyExt: Int = 1) -> ClientOperation {
                    .enter(
                        EnterRequest(
                            room: room, nick: letters(nick), avatar: letters(avatar), ext: letters(ext),
                            notifyExt: letters(notifyExt)))
                }
                let cases: [(fits: ClientOperation, field: String, tooLong: ClientOperation)] = [
                    (enter(nick: 256), "nick", enter(nick: 257)),
                    (enter(avatar: 1024), "avatar", enter(avatar: 1025)),
                    (enter(ext: 4096), "ext", enter(ext: 4097)),
                    (enter(notifyExt: 2048), "notifyExt", enter(notifyExt: 2049)),
                    (.text(room, letters(32 * 1024)), "text", .text(room, letters(32 * 1024 + 1))),
                    // Bytes count, not characters: é has two.
                    (
                        .text(room, String(repeating: "é", count: 16 * 1024)), "text",
                        .text(room, String(repeating: "é", count: 16 * 1024) + "a")
                    ),
                    (
                        .text(room, "a", clientID: letters(64)), "clientId",
                        .text(room, "a", clientID: letters(65))
                    ),
                    (
                        .barrage(BarrageRequest(room: room, text: letters(5 * 1024))), "text",
                        .barrage(BarrageRequest(room: room, text: letters(5 * 1024 + 1)))
                    ),
                ]
                for (fits, field, tooLong) in cases {
                    _ = try await ann.ask(fits).get()
                    let error = try await ann.refusal(of: tooLong)
                    #expect(error.code == .tooLarge && error.field == field, "\(error)")
                }
                #expect(try await ann.wholeHistory(room).count == 3, "nothing refused is kept, nothing is cut")
            }
        }

        @Test func `history pages have at most 100 messages`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("pages")
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                for number in 1...101 { try await ann.send(room, "\(number)") }
                var query = HistoryRequest()
                query.limit = 100
                let page = try await ann.history(room, query)
                #expect(page.messages.compactMap(\.seq) == (2...101).reversed() && page.more == true)
                query.beforeSeq = 101
                #expect(try await ann.history(room, query).more == false, "an exact last page has no more")
                for limit in [0, 101] {
                    query.limit = limit
                    let error = try await ann.refusal(of: .history(RoomHistoryRequest(room: room, query: query)))
                    #expect(error.code == .badParameter && error.field == "limit")
                }
            }
        }

        @Test func `changes beyond the burst are refused with a wait`() async throws {
            try await TestNode.run(["session": ["graceSeconds": 10]]) { node in
                let room = try await node.createRoom("rates")
                let ann = try await TestClient.connected(node, "ann")
                var ids = [await ann.begin(.enter(EnterRequest(room: room)))]
                for number in 0..<200 { ids.append(await ann.begin(.text(room, "\(number)"))) }
                var accepted = 0
                var waits: [Int64] = []
                for id in ids {
                    switch try await ann.reply(to: id) {
                    case .success: accepted += 1
                    case .failure(let error):
                        #expect(error.code == .tooOften)
                        waits.append(try #require(error.retryAfterMs))
                    }
                }
                // 20 at once, and 10 a second while they were read.
                #expect(accepted >= 20 && accepted < 150, "\(accepted)")
                #expect(waits.allSatisfy { (1...100).contains($0) })
                // Barrage is never refused for its rate.
                for _ in 0..<100 { _ = await ann.begin(.barrage(BarrageRequest(room: room, text: "!"))) }
                _ = try await ann.ask(.barrage(BarrageRequest(room: room, text: "!"))).get()
            }
        }

        @Test func `a session is in ten rooms and not in eleven`() async throws {
            try await TestNode.run { node in
                let rooms = try await (1...11).asyncMap { try await node.createRoom("room\($0)") }
                let ann = try await TestClient.connected(node, "ann")
                for room in rooms.dropLast() { try await ann.enter(room) }
                let error = try await ann.refusal(of: .enter(EnterRequest(room: rooms[10])))
                #expect(error.code == .tooManyRooms && error.retryAfterMs != nil)
                try await ann.enter(rooms[3])
                _ = try await ann.ask(.exit(RoomNameRequest(room: rooms[3]))).get()
                try await ann.enter(rooms[10])
            }
        }

        @Test func `a room has so many fixed members, restricted ones included, and so many blacklisted`() async throws
        {
            try await TestNode.run(["rooms": ["fixedMembers": 3, "blacklisted": 2]]) { node in
                try await node.createRoom("hall", creator: "owner")
                func put(_ user: String, _ what: String, _ body: String, fits: Bool) async throws {
                    let answer = try await node.api("PUT", "/v1/rooms/hall/members/\(user)/\(what)", body)
                    #expect(answer.status == (fits ? 200 : 400), "\(user) \(what): \(answer)")
                    #expect(answer.body.contains(#""code":414"#) == !fits, "\(user) \(what): \(answer)")
                }
                let (normal, on, off) = (#"{"role":"NORMAL"}"#, #"{"enable":true}"#, #"{"enable":false}"#)
                try await put("ann", "role", normal, fits: true)
                try await put("bob", "mute", on, fits: true)
                try await put("carl", "role", normal, fits: false)
                try await put("carl", "mute", on, fits: false)
                try await put("carl", "tempMute", #"{"seconds":60}"#, fits: true)
                try await put("ann", "role", #"{"role":"MANAGER"}"#, fits: true)
                try await put("bob", "mute", off, fits: true)
                try await put("carl", "role", normal, fits: true)

                try await put("dan", "blacklist", on, fits: true)
                try await put("eve", "blacklist", on, fits: true)
                try await put("fay", "blacklist", on, fits: false)
                try await put("eve", "blacklist", on, fits: true)
                try await put("eve", "blacklist", off, fits: true)
                try await put("fay", "blacklist", on, fits: true)
            }
        }

        @Test func `anonymous members show a name and only listen`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("public")
                let users = try await node.createRoom("users", fields: #","entry":"USERS""#)
                let guest = try await TestClient.open(port: node.clientPort)
                let connected = try await guest.connect(ConnectRequest(anonymous: true))
                #expect(connected.anonymous)
                for (nick, avatar, field) in [(nil, "a", "nick"), ("Guest", nil, "avatar")] {
                    let error = try await guest.refusal(
                        of: .enter(EnterRequest(room: room, nick: nick, avatar: avatar)))
                    #expect(error.code == .badParameter && error.field == field)
                }
                let entry = EnterRequest(room: room, nick: "Guest", avatar: "https://example.org/a.png")
                #expect(try await guest.enter(entry).me.role == .anonymous)
                for refused in [
                    ClientOperation.text(room, "hello"), .barrage(BarrageRequest(room: room, text: "hello")),
                    .members(MembersRequest(room: room, kind: .temporary)),
                    .queueSet(QueueSetRequest(room: room, key: "seat", value: "me")),
                ] {
                    #expect(try await guest.refusal(of: refused).code == .forbidden)
                }
                #expect(try await guest.history(room).messages.isEmpty)
                let error = try await guest.refusal(of: .enter(EnterRequest(room: users, nick: "G", avatar: "a")))
                #expect(error.code == .forbidden)
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(users)
                #expect(try await ann.enter(room).room.online == 2)
            }
        }

        @Test func `without allowAnonymous nobody anonymous enters`() async throws {
            try await TestNode.run(["allowAnonymous": false]) { node in
                let room = try await node.createRoom("closed")
                let guest = try await TestClient.open(port: node.clientPort)
                let entry = EnterRequest(room: room, nick: "Guest", avatar: "a")
                _ = try await guest.connect(ConnectRequest(anonymous: true))
                #expect(try await guest.refusal(of: .enter(entry)).code == .forbidden)
            }
        }

        @Test func `rooms are entered by whom they and the token allow`() async throws {
            try await TestNode.run { node in
                let open = try await node.createRoom("open")
                let invited = try await node.createRoom("invited", creator: "owner", fields: #","entry":"INVITED""#)
                let owner = try await TestClient.connected(node, "owner")
                try await owner.enter(invited)
                let stranger = try await TestClient.connected(node, "stranger")
                #expect(try await stranger.refusal(of: .enter(EnterRequest(room: invited))).code == .forbidden)
                let ann = try await TestClient.connected(node, "ann", rooms: ["invited"])
                try await ann.enter(invited)
                #expect(try await ann.refusal(of: .enter(EnterRequest(room: open))).code == .forbidden)
                guard let nowhere = RoomID("nowhere") else { throw TestFailure("no room ID") }
                #expect(try await stranger.refusal(of: .enter(EnterRequest(room: nowhere))).code == .notFound)
            }
        }

        @Test func `a room is closed, reopened and deleted`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("shop", creator: "owner")
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                try await ann.send(room, "open")
                #expect(try await node.api("POST", "/v1/rooms/shop/close", #"{"notifyExt":"bye"}"#).status < 300)
                let kicked = try await ann.item("kicked") { item -> KickedPush? in
                    if case .push(.kicked(let push)) = item { push } else { nil }
                }
                #expect(kicked.room == room && kicked.reason == .roomClosed && kicked.ext == "bye")
                let events = await ann.messages(of: room).compactMap(\.notification?.event)
                #expect(events.last == .roomClosed && !events.contains(.exit), "\(events)")
                #expect(try await ann.refusal(of: .text(room, "x")).code == .notInRoom)
                #expect(try await ann.refusal(of: .enter(EnterRequest(room: room))).code == .roomClosed)
                let message = try await node.api("POST", "/v1/rooms/shop/messages", #"{"type":"TEXT","text":"x"}"#)
                #expect(message.status == 409 && message.body.contains("13002"))

                #expect(try await node.api("POST", "/v1/rooms/shop/reopen", "{}").status < 300)
                try await ann.enter(room)
                let kept = try await ann.wholeHistory(room)
                #expect(kept.compactMap(\.text) == ["open"])
                #expect(kept.compactMap(\.notification?.event).first == .roomClosed)
                try await ann.send(room, "again")

                #expect(try await node.api("DELETE", "/v1/rooms/shop").status < 300)
                #expect(try await node.api("GET", "/v1/rooms/shop").status == 404)
                #expect(try await ann.refusal(of: .enter(EnterRequest(room: room))).code == .notFound)
                #expect(try await node.api("GET", "/v1/rooms/shop/messages").status == 404)
            }
        }
    }
}
