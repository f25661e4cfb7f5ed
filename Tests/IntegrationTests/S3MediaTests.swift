import ChatModel
import ChatroomClient
import Cryptography
import Foundation
import Synchronization
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Content that a node leaves to a store of the protocol S3 (PROTOCOL.md, "Media").
    @Suite(.enabled(if: S3Server.isAvailable, "PyPI's moto[server] is not here")) struct S3MediaTests {
        private typealias Local = MediaTests

        private static func run(
            _ more: [String: Any] = [:], _ body: (TestNode, S3Server) async throws -> Void
        ) async throws {
            let store = try await S3Server()
            defer { store.stop() }
            try await TestNode.run(store.settings(more)) { try await body($0, store) }
        }

        private static func put(
            _ ticket: UploadResult, _ store: S3Server, _ content: [UInt8] = Local.png
        ) async throws -> HTTPAnswer {
            try await store.send("PUT", ticket.url, ticket.headers.map { ($0.key, $0.value) }, body: content)
        }

        @Test(arguments: ["path", "virtualHost"])
        func `content goes to the store and comes from it, for who may read it only`(_ style: String) async throws {
            try await Self.run(["style": style, "prefix": "chat/"]) { node, store in
                let room = try await node.createRoom("elsewhere")
                let ann = try await TestClient.connected(node, "ann")
                let token = try #require(try await ann.enter(room).media).token
                let ticket = try await ann.upload(room, Local.png)
                let host = style == "path" ? "localhost" : "media.localhost"
                #expect(ticket.url.hasPrefix("http://\(host):\(store.port)/") && ticket.url.contains("chat/incoming/"))
                #expect(ticket.method == "PUT" && ticket.headers.map(\.key) == ["Content-Type"])
                let path = MediaID.path(ticket.mediaID, in: room)
                #expect(try await ann.naming(room, ticket.mediaID).refused == .notFound, "it was not sent yet")
                // Neither another length nor another type nor another place.
                #expect(try await Self.put(ticket, store, Local.png + [0]).status == 403)
                #expect(
                    try await store.send("PUT", ticket.url, [("Content-Type", "a/b")], body: Local.png).status == 403)
                let elsewhere = ticket.url.replacing(ticket.mediaID, with: String(ticket.mediaID.reversed()))
                #expect(
                    try await store.send("PUT", elsewhere, [("Content-Type", "image/png")], body: Local.png).status
                        == 403)
                #expect(try await Self.put(ticket, store).status == 200)
                #expect(try await node.transfer("GET", "\(path)?token=\(token)").status == 404, "nothing names it")
                let media = try #require(try await ann.naming(room, ticket.mediaID).message?.body.media)
                #expect(media.url == path && media.size == Int64(Local.png.count) && media.contentType == "image/png")

                let found = try await node.transfer("GET", "\(path)?token=\(token)")
                #expect(found.status == 302 && found.headers["cache-control"] == "no-store" && found.body.isEmpty)
                let location = try #require(found.headers["location"])
                #expect(location.contains("X-Amz-Expires=60&"))
                let answer = try await store.send("GET", location)
                #expect(answer.status == 200 && answer.body.hasSuffix("a picture"))
                #expect(answer.headers["content-type"] == "image/png")
                #expect(answer.headers["content-disposition"] == "inline; filename*=UTF-8''n.png")
                #expect(try await store.send("GET", location, [("Range", "bytes=8-")]).body == "a picture")
                #expect(try await store.send("HEAD", location).status == 403, "it is for GET")
                let head = try await node.transfer("HEAD", "\(path)?token=\(token)")
                #expect(head.status == 302)
                #expect(try await store.send("HEAD", try #require(head.headers["location"])).status == 200)
                // No URL is given to somebody who may not read.
                #expect(try await node.transfer("GET", path).status == 401)
                #expect(try await node.transfer("GET", "\(path)?token=x").status == 401)
                // Sending again changes nothing that others see.
                let other = Array("something else...".utf8)
                #expect(other.count == Local.png.count)
                #expect(try await Self.put(ticket, store, other).status == 200)
                _ = try await ann.naming(room, ticket.mediaID)
                let again = try await node.transfer("GET", "\(path)?token=\(token)")
                let second = try await store.send("GET", try #require(again.headers["location"]))
                #expect(second.body.hasSuffix("a picture"))
                #expect(try await node.transfer("PUT", path + "?upload=x", body: Local.png).status == 403)
                #expect(try await node.api("POST", "/v1/rooms/elsewhere/members/ann/kick", "{}").status == 200)
                _ = try await ann.kicked(from: room)
                #expect(try await node.transfer("GET", "\(path)?token=\(token)").status == 403)
            }
        }

        @Test func `what is no picture is only downloaded, and announced digests are checked`() async throws {
            try await Self.run { node, store in
                let room = try await node.createRoom("types")
                let ann = try await TestClient.entered(node, "ann", room)
                let token = try #require(try await ann.mediaToken(room)).token
                let script = Array("<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>".utf8)
                for type in ["image/svg+xml", "text/html", "image/png"] {
                    let ticket = try await ann.upload(room, script, type: type, name: "\"ä.svg")
                    #expect(try await Self.put(ticket, store, script).status == 200)
                    _ = try await ann.naming(room, ticket.mediaID)
                    let found = try await node.transfer(
                        "GET", "\(MediaID.path(ticket.mediaID, in: room))?token=\(token)")
                    let answer = try await store.send("GET", try #require(found.headers["location"]))
                    #expect(answer.headers["content-type"] == "application/octet-stream", "\(type)")
                    #expect(answer.headers["content-disposition"] == "attachment; filename*=UTF-8''%22%C3%A4.svg")
                }
                let digest = Hexadecimal.encode(SHA256.digest(of: Local.png))
                let right = try await ann.upload(room, Local.png, sha256: digest)
                #expect(right.headers.map(\.key) == ["Content-Type", "x-amz-checksum-sha256"])
                #expect(try await Self.put(right, store).status == 200)
                #expect(try await ann.naming(room, right.mediaID).message != nil)
                // The store refuses other bytes, and a sender cannot leave the digest out.
                let wrong = try await ann.upload(room, Local.png, sha256: digest)
                let other = Array("something else...".utf8)
                #expect(try await Self.put(wrong, store, other).status == 400)
                #expect(
                    try await store.send("PUT", wrong.url, [("Content-Type", "image/png")], body: other).status == 403)
                // A store that tells no digests: the node counts it.
                try await store.control(#"{"strip": true}"#)
                #expect(try await Self.put(wrong, store).status == 200)
                #expect(try await ann.naming(room, wrong.mediaID).message != nil)
            }
        }

        @Test func `content goes with the last message that names it, and what nothing names too`() async throws {
            try await Self.run { node, store in
                let (room, target) = (try await node.createRoom("gone"), try await node.createRoom("target"))
                let ann = try await TestClient.connected(node, "ann")
                _ = try await ann.enter(room)
                let token = try #require(try await ann.enter(target).media).token
                let ticket = try await ann.upload(room, Local.png)
                #expect(try await Self.put(ticket, store).status == 200)
                let message = try #require(try await ann.naming(room, ticket.mediaID).message)
                let combine = MessageDraft(body: .combine(title: "t", summary: "s", messageIDs: [message.messageID]))
                _ = try await ann.post(target, combine)
                let copied = "\(MediaID.path(ticket.mediaID, in: target))?token=\(token)"
                #expect(try await node.transfer("GET", copied).status == 302)
                try await poll("the bucket has an owner") { try await store.control().keys.contains("owner") }
                // Twice in its places, and where it was sent to.
                #expect(try await store.control().keys.count { $0.contains(ticket.mediaID) } == 3)
                try await store.control(#"{"age": 100}"#)
                try await poll("the sender's own is gone") {
                    try await store.control().keys.filter { $0.contains(ticket.mediaID) }.allSatisfy {
                        $0.hasPrefix("content/")
                    }
                }
                try await ann.done(.recall(RecallRequest(room: room, messageID: message.messageID)))
                try await poll("the recalled one is gone") {
                    try await store.control().keys.count { $0.contains(ticket.mediaID) } == 1
                }
                let found = try await node.transfer("GET", copied)
                #expect(try await store.send("GET", try #require(found.headers["location"])).status == 200)
                #expect(try await node.api("DELETE", "/v1/rooms/target?now=true").status == 200)
                try await poll("all of it is gone") {
                    try await store.control().keys.allSatisfy { !$0.contains(ticket.mediaID) }
                }
                // An avatar is named by no message.
                let avatar = try await ann.upload(room, Local.png, kind: .avatar)
                let path = MediaID.path(avatar.mediaID, in: room)
                #expect(try await node.transfer("GET", path).status == 404)
                #expect(try await Self.put(avatar, store).status == 200)
                // A client without a token gets the same answer for a while.
                try await poll("it is there") { try await node.transfer("GET", path).status == 302 }
            }
        }

        @Test func `a bucket of another cluster is left as it is`() async throws {
            let store = try await S3Server()
            defer { store.stop() }
            var sent = ""
            for round in 0..<2 {
                try await TestNode.run(store.settings()) { node in
                    if round == 0 {
                        let room = try await node.createRoom("mine")
                        let ann = try await TestClient.entered(node, "ann", room)
                        let ticket = try await ann.upload(room, Local.png)
                        #expect(try await Self.put(ticket, store).status == 200)
                        #expect(try await ann.naming(room, ticket.mediaID).message != nil)
                        sent = ticket.mediaID
                        try await poll("it has an owner") { try await store.control().keys.contains("owner") }
                    } else {
                        try await store.control(#"{"age": 1000}"#)
                        let line = try await node.errorLine(containing: "another cluster's")
                        #expect(line.contains("owner"))
                        #expect(try await store.control().keys.count { $0.contains(sent) } == 2)
                    }
                }
            }
        }

        @Test func `a store that is slow, full, broken or refuses is told, and all else goes on`() async throws {
            try await Self.run { node, store in
                let room = try await node.createRoom("broken")
                let ann = try await TestClient.entered(node, "ann", room)
                let ticket = try await ann.upload(room, Local.png)
                #expect(try await Self.put(ticket, store).status == 200)
                for rules in [
                    #"{"status": 503, "code": "SlowDown"}"#, #"{"status": 500, "code": "InternalError"}"#,
                    #"{"status": 403, "code": "SignatureDoesNotMatch"}"#, #"{"status": 507, "code": "StorageFull"}"#,
                    #"{"status": 404, "code": "NoSuchBucket"}"#, #"{"delay": 7}"#,
                ] {
                    try await store.control(rules)
                    let refused = try await ann.naming(room, ticket.mediaID).refused
                    // HEAD has no body that would tell a missing bucket from missing content.
                    #expect(refused == (rules.contains("404") ? .notFound : .unavailable), "\(rules)")
                    _ = try await ann.send(room, "and all else goes on")
                }
                try await store.control(#"{"status": 507, "code": "StorageFull"}"#)
                let avatar = try await ann.upload(room, Local.png, kind: .avatar)
                let full = try await node.transfer("GET", MediaID.path(avatar.mediaID, in: room))
                #expect(full.status == 507 && full.body.contains("STORE_FULL"))
                try await store.control()
                #expect(try await ann.naming(room, ticket.mediaID).message != nil)

                // Wrong credentials, and right ones again without a start.
                store.writeSecret("wrong")
                try await node.reload()
                let other = try await ann.upload(room, Local.png)
                #expect(try await Self.put(other, store).status == 403)
                #expect(try await ann.naming(room, other.mediaID).refused == .unavailable)
                store.writeSecret(S3Server.secretKey)
                try await node.reload()
                let third = try await ann.upload(room, Local.png)
                #expect(try await Self.put(third, store).status == 200)
                #expect(try await ann.naming(room, third.mediaID).message != nil)
            }
        }

        @Test func `the SDK and the app's server send to the store`() async throws {
            try await Self.run { node, store in
                let id = try await node.createRoom("sdk")
                let ann = try await node.sdkClient("ann")
                let (room, watch) = try await ann.entered(id)
                let told = Mutex(0)
                try await room.sendMedia(
                    Local.png, kind: .image, name: "n.png", contentType: "image/png",
                    progress: { sent, _ in told.withLock { $0 = sent } })
                #expect(told.withLock { $0 } == Local.png.count)
                let url = try await watch.event("a picture") { event -> String? in
                    guard case .message(let message) = event else { return nil }
                    return message.body.media?.url
                }
                let address = try await room.mediaURL(url)
                let target = try #require(address.range(of: "/v1/media/")).lowerBound
                #expect(try await node.transfer("GET", String(address[target...])).status == 302)

                let answer = try await node.api(
                    "POST", "/v1/rooms/sdk/uploads",
                    #"{"kind":"FILE","name":"f","contentType":"image/png","size":17}"#)
                let place = try #require(try answer.fields()["url"] as? String)
                #expect(
                    try await store.send("PUT", place, [("Content-Type", "image/png")], body: Local.png).status == 200)
                let mediaID = try #require(try answer.fields()["mediaId"] as? String)
                let sent = try await node.api(
                    "POST", "/v1/rooms/sdk/messages",
                    #"{"type":"FILE","media":{"id":"\#(mediaID)"}}"#)
                #expect(sent.status == 200, "\(sent.body)")
            }
        }
    }
}
