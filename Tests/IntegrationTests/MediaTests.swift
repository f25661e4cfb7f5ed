import ChatModel
import Foundation
import Media
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Content that a node stores (PROTOCOL.md, "Media").
    @Suite struct MediaTests {
        static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Array("a picture".utf8)

        @Test func `what is sent is shown to who is in the room, and to nobody else`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("media")
                let elsewhere = try await node.createRoom("elsewhere")
                let ann = try await TestClient.connected(node, "ann")
                let token = try #require(try await ann.enter(room).media).token
                let bob = try await TestClient.entered(node, "bob", elsewhere)
                let ticket = try await ann.upload(room, Self.png)
                #expect(ticket.method == "PUT" && ticket.headers.first?.value == "image/png")
                let path = MediaID.path(ticket.mediaID, in: room)
                #expect(try await ann.naming(room, ticket.mediaID).refused == .notFound, "it was not sent yet")
                #expect(try await node.transfer("PUT", ticket.url, body: Self.png).status == 200)
                #expect(try await node.transfer("PUT", ticket.url, body: Self.png).status == 409)
                #expect(try await node.transfer("GET", "\(path)?token=\(token)").status == 404, "nothing names it")
                let media = try #require(try await ann.naming(room, ticket.mediaID).message?.body.media)
                #expect(media.url == path && media.size == Int64(Self.png.count) && media.contentType == "image/png")

                let answer = try await node.transfer("GET", "\(path)?token=\(token)")
                #expect(answer.status == 200 && answer.headers["content-length"] == "\(Self.png.count)")
                #expect(answer.body.hasSuffix("a picture") && answer.headers["content-type"] == "image/png")
                #expect(answer.headers["content-disposition"]?.hasPrefix("inline") == true)
                #expect(answer.headers["x-content-type-options"] == "nosniff")
                #expect(answer.headers["content-security-policy"] == "sandbox; default-src 'none'")
                #expect(answer.headers["referrer-policy"] == "no-referrer")
                #expect(answer.headers["cache-control"] == "private, max-age=60")
                let etag = try #require(answer.headers["etag"])
                let bearer = ["Authorization": "Bearer \(token)"]
                #expect(
                    try await node.transfer("GET", path, bearer.merging(["If-None-Match": etag]) { $1 }).status == 304)
                let part = try await node.transfer("GET", path, bearer.merging(["Range": "bytes=8-"]) { $1 })
                #expect(part.status == 206 && part.body == "a picture")
                #expect(part.headers["content-range"] == "bytes 8-16/17")
                let outside = try await node.transfer("GET", path, bearer.merging(["Range": "bytes=99-"]) { $1 })
                #expect(outside.status == 416 && outside.headers["content-range"] == "bytes */17")
                let head = try await node.transfer("HEAD", path, bearer)
                #expect(head.status == 200 && head.headers["content-length"] == "17" && head.body.isEmpty)

                // Nobody else: no token, another room's, and one of a session that has left.
                let foreign = try #require(try await bob.mediaToken(elsewhere)).token
                #expect(try await node.transfer("GET", path).status == 401)
                #expect(try await node.transfer("GET", "\(path)?token=nonsense").status == 401)
                #expect(try await node.transfer("GET", "\(path)?token=\(foreign)").status == 403)
                #expect(try await bob.naming(elsewhere, ticket.mediaID).refused == .forbidden)
                let admin = ["Authorization": "Bearer \(TestNode.adminKey)"]
                #expect(try await node.transfer("GET", path, admin).status == 200)
                #expect(
                    try await node.transfer("GET", path, ["Authorization": "Bearer \(TestNode.adminKey)x"]).status
                        == 401)
                let again = try #require(try await ann.mediaToken(room)).token
                #expect(try await node.transfer("GET", "\(path)?token=\(again)").status == 200)
                #expect(
                    try await node.api("POST", "/v1/rooms/media/members/ann/kick", "{}").status == 200)
                _ = try await ann.kicked(from: room)
                #expect(try await node.transfer("GET", "\(path)?token=\(again)").status == 403)
            }
        }

        @Test func `exactly the announced bytes are taken, at a URL that nobody guesses`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("bytes")
                let ann = try await TestClient.entered(node, "ann", room)
                let wrong = try await ann.upload(
                    room, Self.png, sha256: String(repeating: "0", count: 64))
                #expect(try await node.transfer("PUT", wrong.url, body: Self.png).status == 422)
                #expect(try await node.transfer("PUT", wrong.url, body: Self.png).status == 422, "it begins anew")
                let ticket = try await ann.upload(room, Self.png)
                for body in [Self.png.dropLast(), Self.png + [0]] {
                    #expect(try await node.transfer("PUT", ticket.url, body: Array(body)).status == 413)
                }
                let path = MediaID.path(ticket.mediaID, in: room)
                for url in [path, "\(path)?upload=x", path + wrong.url.drop { $0 != "?" }] {
                    #expect(try await node.transfer("PUT", url, body: Self.png).status == 403, "\(url)")
                }
                for target in ["/v1/media/bytes", "/v1/media/bytes/x", "/v1/media/%zz/\(ticket.mediaID)"] {
                    #expect(try await node.transfer("GET", target).status == 404, "\(target)")
                }
                #expect(try await node.transfer("DELETE", path).status == 405)
                // Broken off, it begins anew.
                let socket = TestSocket()
                try await socket.open(port: node.clientPort)
                await socket.write(
                    Array("PUT \(ticket.url) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 17\r\n\r\nhalf".utf8))
                await socket.close()
                // The node may hear of the end after the next one has begun; then it says 503, and that it be sent again.
                try await poll("it is taken") {
                    let status = try await node.transfer("PUT", ticket.url, body: Self.png).status
                    guard status == 200 || status == 503 else { throw TestFailure("it answered \(status)") }
                    return status == 200
                }
                let large = try await ann.ask(.upload(UploadRequest(room: room, draft: Self.draft(.avatar, 2 << 20))))
                guard case .failure(let error) = large else { throw TestFailure("too large an avatar") }
                #expect(error.code == .tooLarge && error.field == "size")
                for type in ["text/html", "image/svg+xml", "application/octet-stream"] {
                    var draft = Self.draft(.avatar, 17)
                    draft.contentType = type
                    let other = try await ann.refusal(of: .upload(UploadRequest(room: room, draft: draft)))
                    #expect(other.code == .badParameter && other.field == "contentType", "\(type)")
                }
                let body = #"{"kind":"AVATAR","name":"n","contentType":"text/html","size":1}"#
                #expect(try await node.api("POST", "/v1/rooms/bytes/uploads", body).status == 400)
            }
        }

        @Test func `what is no picture is only downloaded, and a page of elsewhere reads what it may`() async throws {
            try await TestNode.run(["allowedOrigins": ["https://app.example.com"]]) { node in
                let room = try await node.createRoom("types")
                let ann = try await TestClient.entered(node, "ann", room)
                let token = try #require(try await ann.mediaToken(room)).token
                let script = Array("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>".utf8)
                for type in ["image/svg+xml", "text/html", "image/png"] {
                    let ticket = try await ann.upload(room, script, type: type, name: "\"ä\r\n.svg")
                    #expect(try await node.transfer("PUT", ticket.url, body: script).status == 200)
                    _ = try await ann.naming(room, ticket.mediaID)
                    let target = "\(MediaID.path(ticket.mediaID, in: room))?token=\(token)"
                    let answer = try await node.transfer("GET", target, ["Origin": "https://app.example.com"])
                    #expect(answer.headers["content-type"] == "application/octet-stream", "\(type)")
                    #expect(
                        answer.headers["content-disposition"]
                            == "attachment; filename*=UTF-8''%22%C3%A4%0D%0A.svg")
                    #expect(answer.headers["access-control-allow-origin"] == "https://app.example.com")
                    #expect(
                        try await node.transfer("GET", target, ["Origin": "https://evil.example.com"]).status == 403)
                    let asked = try await node.transfer("OPTIONS", target, ["Origin": "https://app.example.com"])
                    #expect(asked.status == 204 && asked.headers["access-control-allow-methods"] == "GET, HEAD, PUT")
                }
            }
        }

        @Test func `recalled content is gone, content of a deleted room too, and avatars need no token`() async throws {
            try await TestNode.run(["media": ["roundSeconds": 1]]) { node in
                let room = try await node.createRoom("gone")
                let ann = try await TestClient.entered(node, "ann", room)
                let token = try #require(try await ann.mediaToken(room)).token
                let ticket = try await ann.upload(room, Self.png)
                #expect(try await node.transfer("PUT", ticket.url, body: Self.png).status == 200)
                let message = try #require(try await ann.naming(room, ticket.mediaID).message)
                let target = "\(MediaID.path(ticket.mediaID, in: room))?token=\(token)"
                #expect(try await node.transfer("GET", target).status == 200)
                try await ann.done(.recall(RecallRequest(room: room, messageID: message.messageID)))
                #expect(try await node.transfer("GET", target).status == 404)
                try await poll("its bytes are gone") { try Self.files(of: node).isEmpty }

                let avatar = try await ann.upload(room, Self.png, kind: .avatar)
                #expect(try await node.transfer("PUT", avatar.url, body: Self.png).status == 200)
                #expect(try await node.transfer("GET", MediaID.path(avatar.mediaID, in: room)).status == 200)
                #expect(try Self.files(of: node).count == 1)
                let other = try await ann.upload(room, Self.png)
                #expect(try await node.transfer("PUT", other.url, body: Self.png).status == 200)
                #expect(try await ann.naming(room, other.mediaID).message != nil)
                #expect(try await node.api("DELETE", "/v1/rooms/gone/uploads/\(other.mediaID)").status == 200)
                #expect(
                    try await node.transfer("GET", "\(MediaID.path(other.mediaID, in: room))?token=\(token)").status
                        == 404)
                #expect(try await node.api("DELETE", "/v1/rooms/gone/uploads/\(other.mediaID)").status == 404)
                try await poll("its bytes are gone") { try Self.files(of: node).count == 1 }
                #expect(try await node.api("DELETE", "/v1/rooms/gone?now=true").status == 200)
                try await poll("its bytes are gone") { try Self.files(of: node).isEmpty }
                // The node forgets it when its bytes are not there.
                #expect(try await node.transfer("GET", MediaID.path(avatar.mediaID, in: room)).status == 404)
            }
        }

        @Test func `what was stored survives a kill, and what was being sent begins anew`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("kill")
                let ann = try await TestClient.entered(node, "ann", room)
                let (stored, cut) = (try await ann.upload(room, Self.png), try await ann.upload(room, Self.png))
                #expect(try await node.transfer("PUT", stored.url, body: Self.png).status == 200)
                _ = try await ann.naming(room, stored.mediaID)
                let big = [UInt8](repeating: 7, count: 1 << 20)
                let half = try await ann.upload(room, big)
                let socket = TestSocket()
                try await socket.open(port: node.clientPort)
                let length = "Content-Length: \(big.count)\r\n\r\n"
                await socket.write(
                    Array("PUT \(half.url) HTTP/1.1\r\nHost: localhost\r\n\(length)".utf8) + big.dropLast())
                try await poll("half of it is there") {
                    try !FileManager.default.contentsOfDirectory(atPath: node.dataPath + "/media/incoming").isEmpty
                }
                await node.kill()
                await socket.close()
                try await node.start()
                #expect(try FileManager.default.contentsOfDirectory(atPath: node.dataPath + "/media/incoming").isEmpty)
                let again = try await TestClient.entered(node, "ann", room)
                let token = try #require(try await again.mediaToken(room)).token
                let answer = try await node.transfer("GET", "\(MediaID.path(stored.mediaID, in: room))?token=\(token)")
                #expect(answer.status == 200 && answer.body.hasSuffix("a picture"))
                // The node has no cluster key: the URLs of before are nobody's, and whoever wants asks anew.
                #expect(try await node.transfer("PUT", cut.url, body: Self.png).status == 403)
                let anew = try await again.upload(room, big)
                #expect(try await node.transfer("PUT", anew.url, body: big).status == 200)
            }
        }

        @Test func `a stranger asks no room, but for avatars, and each of these once`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("strangers")
                let ann = try await TestClient.entered(node, "ann", room)
                let token = try #require(try await ann.mediaToken(room)).token
                let (ticket, avatar) = (
                    try await ann.upload(room, Self.png), try await ann.upload(room, Self.png, kind: .avatar)
                )
                for url in [ticket.url, avatar.url] {
                    #expect(try await node.transfer("PUT", url, body: Self.png).status == 200)
                }
                _ = try await ann.naming(room, ticket.mediaID)
                func questions() async throws -> Double { try await node.metric("chatroom_media_questions_total ") }
                let before = try await questions()
                let elsewhere = try #require(RoomID("elsewhere"))
                let never = MediaID(in: room, random: (1, 2)).text
                let foreign = MediaID(in: elsewhere, random: (3, 4), isAvatar: true).text
                for round in 0..<10 {
                    for id in [ticket.mediaID, never, foreign] {
                        let path = MediaID.path(id, in: room)
                        #expect(try await node.transfer("GET", path).status == 401)
                        #expect(try await node.transfer("HEAD", path).status == 401)
                        #expect(try await node.transfer("GET", path + "?token=\(token)x").status == 401)
                        #expect(try await node.transfer("PUT", path + "?upload=\(token)", body: Self.png).status == 403)
                    }
                    let other = MediaID(in: elsewhere, random: (UInt64(round), 1)).text
                    #expect(
                        try await node.transfer("GET", MediaID.path(other, in: elsewhere) + "?token=\(token)").status
                            == 403)
                }
                #expect(try await questions() == before, "no room was asked")
                let none = MediaID(in: room, random: (5, 6), isAvatar: true).text
                for _ in 0..<20 {
                    let path = MediaID.path(avatar.mediaID, in: room)
                    #expect(try await node.transfer("GET", path).status == 200)
                    #expect(try await node.transfer("GET", "\(path)?token=\(token)").status == 200)
                    #expect(try await node.transfer("GET", MediaID.path(none, in: room)).status == 404)
                }
                // The node asks again after a while for missing content.
                let after = try await questions()
                #expect(after >= before + 2 && after <= before + 2 + 9)
                #expect(
                    try await node.transfer("GET", "\(MediaID.path(ticket.mediaID, in: room))?token=\(token)").status
                        == 200)
                #expect(try await questions() > after, "who has a token asks")
            }
        }

        @Test func `one user's slow transfers leave the others theirs`() async throws {
            try await TestNode.run(["media": ["transfersPerUser": 2]]) { node in
                let room = try await node.createRoom("shares")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                var sockets: [TestSocket] = []
                for _ in 0..<2 {
                    let ticket = try await ann.upload(room, Self.png)
                    let socket = TestSocket()
                    try await socket.open(port: node.clientPort)
                    let head = "PUT \(ticket.url) HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\n"
                    await socket.write(Array((head + "Content-Length: 17\r\n\r\n").utf8))
                    _ = try await socket.received("leave to send") {
                        String(decoding: $0, as: UTF8.self).contains(" 100 ") ? $0 : nil
                    }
                    sockets.append(socket)
                }
                let (mine, his) = (try await ann.upload(room, Self.png), try await bob.upload(room, Self.png))
                #expect(try await node.transfer("PUT", mine.url, body: Self.png).status == 503)
                #expect(try await node.transfer("PUT", his.url, body: Self.png).status == 200)
                for socket in sockets { await socket.close() }
                try await poll("hers are free again") {
                    try await node.transfer("PUT", mine.url, body: Self.png).status == 200
                }
            }
        }

        @Test func `a node that is started again knows how much a user has sent today`() async throws {
            try await TestNode.run(["media": ["megabytesPerUserAndDay": 1]]) { node in
                let room = try await node.createRoom("again")
                let ann = try await TestClient.entered(node, "ann", room)
                let draft = Self.draft(.image, 600 << 10)
                try await ann.done(.upload(UploadRequest(room: room, draft: draft)))
                try await poll("it is written") {
                    FileManager.default.contents(atPath: node.dataPath + "/uploads-today") != nil
                }
                await node.kill()
                try await node.start()
                let again = try await TestClient.entered(node, "ann", room)
                let refused = try await again.refusal(of: .upload(UploadRequest(room: room, draft: draft)))
                #expect(refused.code == .tooOften)
                try await again.done(.upload(UploadRequest(room: room, draft: Self.draft(.image, 400 << 10))))
            }
        }

        @Test func `a user sends so much a day, and a full store says so`() async throws {
            try await TestNode.run(["media": ["megabytesPerUserAndDay": 1]]) { node in
                let room = try await node.createRoom("quota")
                let ann = try await TestClient.entered(node, "ann", room)
                let draft = Self.draft(.image, 600 << 10)
                try await ann.done(.upload(UploadRequest(room: room, draft: draft, clientID: "1")))
                // A repeat costs nothing.
                try await ann.done(.upload(UploadRequest(room: room, draft: draft, clientID: "1")))
                let refused = try await ann.refusal(of: .upload(UploadRequest(room: room, draft: draft)))
                #expect(refused.code == .tooOften && (refused.retryAfterMs ?? 0) > 0)
                let bob = try await TestClient.entered(node, "bob", room)
                try await bob.done(.upload(UploadRequest(room: room, draft: draft)))
                // The app's server has no such limit, and is in no room.
                let answer = try await node.api(
                    "POST", "/v1/rooms/quota/uploads",
                    #"{"kind":"FILE","name":"f","contentType":"image/png","size":17}"#)
                let url = try #require(try answer.fields()["url"] as? String)
                #expect(try await node.transfer("PUT", url, body: Self.png).status == 200)
            }
            try await TestNode.run(["media": ["reserveMegabytes": 1_048_576]]) { node in
                let room = try await node.createRoom("full")
                let ann = try await TestClient.entered(node, "ann", room)
                let answer = try await node.transfer("PUT", try await ann.upload(room, Self.png).url, body: Self.png)
                #expect(answer.status == 507 && answer.body.contains("STORE_FULL"))
                _ = try await ann.send(room, "and all else goes on")
            }
        }

        @Test
        func `who reviews messages reads what they show before others may, and a COMBINE takes it to another room`()
            async throws
        {
            let receiver = FakeReceiver()
            try await receiver.start()
            let hook = await receiver.url
            try await TestNode.run { node in
                #expect(
                    try await node.api("PUT", "/v1/webhook", #"{"url":"\#(hook)","secret":"s3cret"}"#).status == 200)
                let (room, other) = (try await node.createRoom("review"), try await node.createRoom("target"))
                let ann = try await TestClient.connected(node, "ann")
                _ = try await ann.enter(room)
                let token = try #require(try await ann.enter(other).media).token
                let ticket = try await ann.upload(room, Self.png)
                #expect(try await node.transfer("PUT", ticket.url, body: Self.png).status == 200)
                let message = try #require(try await ann.naming(room, ticket.mediaID).message)
                #expect(message.body.media?.reviewURL == nil, "viewers get none")
                try await poll("the webhook has it") { await receiver.calls.contains { $0.text.contains("reviewUrl") } }
                let all = await receiver.calls.map(\.text).joined()
                let start = try #require(all.range(of: #""reviewUrl":""#)?.upperBound)
                let review = String(all[start...].prefix { $0 != "\"" }).replacing("\\/", with: "/")
                #expect(review.hasPrefix(MediaID.path(ticket.mediaID, in: room)))
                #expect(try await node.transfer("GET", review).status == 200)

                let combine = MessageDraft(body: .combine(title: "t", summary: "s", messageIDs: [message.messageID]))
                let sent = try await ann.post(other, combine)
                guard
                    case .combined(let copies) = try await ann.done(
                        .combined(CombinedRequest(room: other, messageID: sent.messageID)))
                else { throw TestFailure("no copies") }
                let url = MediaID.path(ticket.mediaID, in: other)
                #expect(copies.messages.first?.body.media?.url == url)
                #expect(try await node.transfer("GET", "\(url)?token=\(token)").status == 200)
                // It stays there when the original is recalled.
                try await ann.done(.recall(RecallRequest(room: room, messageID: message.messageID)))
                #expect(try await node.transfer("GET", review).status == 404)
                #expect(try await node.transfer("GET", "\(url)?token=\(token)").status == 200)
            }
        }

        @Test func `slow senders hold up nobody, and more transfers than a node takes are told so`() async throws {
            try await TestNode.run(["media": ["transfers": 20]]) { node in
                let room = try await node.createRoom("slow")
                let ann = try await TestClient.entered(node, "ann", room)
                var sockets: [TestSocket] = []
                for _ in 0..<20 {
                    let ticket = try await ann.upload(room, Self.png)
                    let socket = TestSocket()
                    try await socket.open(port: node.clientPort)
                    await socket.write(
                        Array("PUT \(ticket.url) HTTP/1.1\r\nHost: localhost\r\nContent-Length: 17\r\n\r\nx".utf8))
                    sockets.append(socket)
                }
                try await poll("all have begun") { try await node.metric("chatroom_media_transfers") == 20 }
                let ticket = try await ann.upload(room, Self.png)
                #expect(try await node.transfer("PUT", ticket.url, body: Self.png).status == 503)
                _ = try await ann.send(room, "goes on")
                for socket in sockets { await socket.close() }
                try await poll("all have ended") { try await node.metric("chatroom_media_transfers") == 0 }
                #expect(try await node.transfer("PUT", ticket.url, body: Self.png).status == 200)
            }
        }

        @Test func `who is refused holds no transfer of the node, whether it closes or not`() async throws {
            try await TestNode.run(["media": ["transfers": 2]]) { node in
                let room = try await node.createRoom("r")
                let ann = try await TestClient.entered(node, "ann", room)
                var sockets: [TestSocket] = []
                for _ in 0..<10 {
                    let socket = TestSocket()
                    try await socket.open(port: node.clientPort)
                    let lines = ["PUT /v1/media/r/none?token=none HTTP/1.1", "Host: localhost", "Content-Length: 1"]
                    await socket.write(Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
                    sockets.append(socket)
                    // It has been refused, and stays.
                    try await poll("a place that is given back") {
                        try await node.metric("chatroom_media_transfers") == 0
                    }
                }
                let ticket = try await ann.upload(room, Self.png)
                #expect(try await node.transfer("PUT", ticket.url, body: Self.png).status == 200)
                for socket in sockets { await socket.close() }
            }
        }

        static func draft(_ kind: UploadKind, _ size: Int64) -> UploadDraft {
            UploadDraft(kind: kind, name: "n", contentType: "image/png", size: size)
        }

        /// The content in a node's store.
        static func files(of node: TestNode) throws -> [String] {
            guard let all = FileManager.default.enumerator(atPath: node.dataPath + "/media") else { return [] }
            return all.compactMap { $0 as? String }.filter { $0.split(separator: "/").count == 3 }
        }
    }
}

extension IntegrationTests.ClusterTests {
    /// Content in a cluster of three.
    @Suite(AskingAgain()) struct ClusterMedia {
        private typealias Single = IntegrationTests.MediaTests

        @Test func `content is on two nodes, read at any, and copied when one of the two has died`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("spread")
            let ann = try await TestClient.entered(cluster.nodes[0], "sender", room)
            let content = (0..<200_000).map { UInt8(truncatingIfNeeded: 0x41 + $0 % 26) }
            let ticket = try await ann.upload(room, content, kind: .file)
            #expect(try await cluster.nodes[1].transfer("PUT", ticket.url, body: content).status == 200)
            func holders(_ nodes: [TestNode]) throws -> [TestNode] {
                try nodes.filter { try Single.files(of: $0).contains { $0.contains(ticket.mediaID) } }
            }
            let holding = try holders(cluster.nodes)
            #expect(holding.count == 2)
            let draft = Single.draft(.file, 1)
            #expect(draft.kind == .file)
            let shown = try await ann.naming(room, ticket.mediaID, type: .file)
            #expect(shown.message != nil)
            let target = "\(MediaID.path(ticket.mediaID, in: room))?token="
            let token = try #require(try await ann.mediaToken(room)).token
            for node in cluster.nodes {
                let answer = try await node.transfer("GET", target + token)
                #expect(answer.status == 200 && answer.body.utf8.elementsEqual(content))
            }
            // The second place is away: the next one takes it over, and content is read from the first.
            let lost = holding[0]
            await lost.kill()
            let staying = cluster.nodes.filter { $0 !== lost }
            try await poll("it is on both others") { try holders(staying).count == 2 }
            let reader = try await TestClient.entered(staying[0], "reader", room)
            let other = try #require(try await reader.mediaToken(room)).token
            for node in staying {
                let answer = try await retrying("a read") {
                    let answer = try await node.transfer("GET", target + other)
                    guard answer.status != 503 else { throw ChatError(.unavailable, "not yet") }
                    return answer
                }
                #expect(answer.status == 200 && answer.body.utf8.elementsEqual(content))
            }
            let writer = try await TestClient.entered(staying[1], "writer", room)
            let second = try await writer.upload(room, Single.png)
            #expect(try await staying[0].transfer("PUT", second.url, body: Single.png).status == 200)
            try await cluster.mend(3)
            try await poll("it is on two again") { try holders(cluster.nodes).count == 2 }
        }

        @Test func `content that is on its way to a node in its planned stop arrives`() async throws {
            // With no other clients, for which the node would wait.
            try await TestCluster.run(3) { cluster in
                try await cluster.start(3)
                try await Self.sendWhileStopping(cluster)
            }
        }

        private static func sendWhileStopping(_ cluster: TestCluster) async throws {
            let (stopping, other) = (cluster.nodes[0], cluster.nodes[1])
            let room = try await cluster.room("stopping")
            let ann = try await TestClient.entered(stopping, "sender", room)
            let content = (0..<200_000).map { UInt8(truncatingIfNeeded: 0x41 + $0 % 26) }
            let ticket = try await ann.upload(room, content, kind: .file)
            let socket = TestSocket()
            try await socket.open(port: stopping.clientPort)
            let head = "PUT \(ticket.url) HTTP/1.1\r\nHost: localhost\r\nContent-Length: \(content.count)\r\n\r\n"
            await socket.write(Array(head.utf8) + content[..<100_000])
            async let end = stopping.stop()
            _ = try await ann.item("reconnect") { item -> ReconnectPush? in
                if case .push(.reconnect(let push)) = item { push } else { nil }
            }
            let moved = try await TestClient.open(port: other.clientPort)
            #expect(try await moved.connect(token: other.token("sender"), session: ann.session).resumed)
            #expect(try await ann.closing() == 4410)
            // The node looks every 50 ms whether it is still needed, and tells nobody: nothing can be waited for. It has
            // seen ten times that no session is left; on a slow machine less often, which fails nothing.
            try await Task.sleep(for: .milliseconds(500))
            await socket.write(Array(content[100_000...]))
            let answer = String(decoding: try await socket.receivedUntilClosed(), as: UTF8.self)
            #expect(answer.hasPrefix("HTTP/1.1 200 "), "\(answer)")
            #expect(try await end?.status == 0)
            try await moved.enter(room)
            #expect(try await moved.naming(room, ticket.mediaID, type: .file).message != nil)
        }

        @Test func `a node whose disk is full is left out, and the next one stores instead`() async throws {
            let cluster = try await TestCluster.whole()
            let full = cluster.nodes[1]
            func keepFree(_ megabytes: Int) throws {
                try full.rewrite { $0["media"] = ["roundSeconds": 1, "reserveMegabytes": megabytes] }
            }
            try keepFree(1_048_576)
            defer { try? keepFree(0) }
            await full.kill()
            try await cluster.mend(3)
            let room = try await cluster.room("full-node")
            let ann = try await TestClient.entered(cluster.nodes[0], "sender-to-full", room)
            let names = try cluster.nodes.map { try #require(NodeID(cluster.name(of: $0))) }
            let fullName = try #require(NodeID(cluster.name(of: full)))
            // Places are random: sooner or later one has the full node among its first two.
            var wasMeant = 0
            while wasMeant < 2 {
                let ticket = try await ann.upload(room, Single.png)
                let order = MediaPlaces.order(of: ticket.mediaID, among: names)
                if order.prefix(MediaPlaces.copies).contains(fullName) { wasMeant += 1 }
                let answer = try await retrying("a sending") {
                    let answer = try await cluster.nodes[2].transfer("PUT", ticket.url, body: Single.png)
                    guard answer.status != 503 else { throw ChatError(.unavailable, "not yet") }
                    return answer
                }
                #expect(answer.status == 200, "\(answer.body)")
                for node in cluster.nodes where node !== full {
                    #expect(try Single.files(of: node).contains { $0.contains(ticket.mediaID) })
                }
            }
            try keepFree(0)
            await full.kill()
            try await cluster.mend(3)
        }

        @Test func `a user has one allowance over all nodes, also when the one that counts has died`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("allowance")
            let name = "allowance-user"
            let draft = Single.draft(.video, 100 << 20)
            // 1,024 MB a day.
            for number in 0..<10 {
                let client = try await TestClient.entered(cluster.nodes[number % 3], name, room)
                try await client.done(.upload(UploadRequest(room: room, draft: draft)))
                try await client.drop()
            }
            for node in cluster.nodes {
                let client = try await TestClient.entered(node, name, room)
                let refused = try await client.refusal(of: .upload(UploadRequest(room: room, draft: draft)))
                #expect(refused.code == .tooOften)
                try await client.drop()
            }
            let names = try cluster.nodes.map { try #require(NodeID(cluster.name(of: $0))) }
            let lost = try cluster.node(try #require(MediaPlaces.order(of: name, among: names).first).text)
            await lost.kill()
            let client = try await TestClient.entered(
                try #require(cluster.nodes.first { $0 !== lost }), name, room)
            let refused = try await retrying("it counts on") {
                let error = try await client.refusal(of: .upload(UploadRequest(room: room, draft: draft)))
                guard error.code != .unavailable else { throw error }
                return error
            }
            #expect(refused.code == .tooOften)
            // The rest is still there.
            try await client.done(.upload(UploadRequest(room: room, draft: Single.draft(.file, 20 << 20))))
            try await cluster.mend(3)
        }
    }
}

extension TestNode {
    /// Sends a request to the client port and reads the answer until the connection ends.
    func transfer(_ method: String, _ target: String, _ headers: [String: String] = [:], body: [UInt8]? = nil)
        async throws -> HTTPAnswer
    {
        let socket = TestSocket()
        try await socket.open(port: clientPort)
        var text = "\(method) \(target) HTTP/1.1\r\nHost: localhost:\(clientPort)\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if let body { text += "Content-Length: \(body.count)\r\n" }
        await socket.write(Array((text + "\r\n").utf8) + (body ?? []))
        let hasBody = method != "HEAD"
        let answer = try await socket.received("an HTTP answer") { bytes -> HTTPAnswer? in
            guard !hasBody, let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
                return HTTPAnswer.parse(bytes)
            }
            let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
            var answer = HTTPAnswer.parse(Array((head.replacing("Content-Length", with: "X-Length") + "\r\n\r\n").utf8))
            let length = answer?.headers["x-length"]
            answer?.headers["content-length"] = length
            return answer
        }
        await socket.close()
        return answer
    }
}

extension TestClient {
    /// Asks for a place for content.
    func upload(
        _ room: RoomID, _ content: [UInt8], kind: UploadKind = .image, type: String = "image/png",
        name: String = "n.png",
        sha256: String? = nil
    ) async throws -> UploadResult {
        let draft = UploadDraft(
            kind: kind, name: name, contentType: type, size: Int64(content.count), sha256: sha256)
        guard case .upload(let result) = try await done(.upload(UploadRequest(room: room, draft: draft))) else {
            throw TestFailure("no place")
        }
        return result
    }

    func mediaToken(_ room: RoomID) async throws -> MediaToken? {
        guard case .mediaToken(let token) = try await done(.mediaToken(RoomNameRequest(room: room))) else { return nil }
        return token.token.isEmpty ? nil : token
    }

    /// Sends a message that names content, and reads it as others see it.
    func naming(_ room: RoomID, _ id: String, type: UploadKind = .image) async throws -> (
        message: Message?, refused: ErrorCode?
    ) {
        var media = Media(url: "", name: "", size: 0, contentType: "")
        media.id = id
        let draft = MessageDraft(body: type == .file ? .file(media) : .image(media))
        switch try await ask(
            .send(SendRequest(room: room, clientID: "m\(UInt64.random(in: 0 ... .max))", draft: draft)))
        {
        case .success: return (try await newest(room), nil)
        case .failure(let error): return (nil, error.code)
        }
    }
}
