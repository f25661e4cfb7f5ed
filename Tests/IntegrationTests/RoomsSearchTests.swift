import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension TestClient {
    /// Asks again where the rate refused it: two a second.
    fileprivate func search(_ request: SearchRequest) async throws -> SearchResult {
        for _ in 0..<20 {
            switch try await ask(.search(request)) {
            case .success(.search(let result)): return result
            case .success: throw TestFailure("another answer")
            case .failure(let error) where error.code == .tooOften:
                try await Task.sleep(for: .milliseconds(error.retryAfterMs ?? 500))
            case .failure(let error): throw error
            }
        }
        throw TestFailure("always too often")
    }
}

extension IntegrationTests {
    /// Looking for messages (PROTOCOL.md, "Search").
    @Suite struct RoomsSearchTests {
        private func texts(_ client: TestClient, _ room: RoomID, _ text: String) async throws -> [String] {
            try await client.search(SearchRequest(room: room, text: text)).messages.compactMap(\.text)
        }

        @Test func `a manager finds what was said, as it is now, also after a restart, in both encodings`() async throws
        {
            for encoding in [ClientEncoding.json, .protobuf] {
                try await TestNode.run(encoding: encoding) { node in
                    let room = try await node.createRoom("found", creator: "owner")
                    let ann = try await TestClient.entered(node, "ann", room)
                    let owner = try await TestClient.entered(node, "owner", room)
                    let first = try await ann.send(room, "Hello wörld")
                    let second = try await ann.send(room, "小白, hello again")
                    let third = try await owner.send(room, "helmet")
                    #expect(try await texts(owner, room, "HEL") == ["helmet", "小白, hello again", "Hello wörld"])
                    #expect(try await texts(owner, room, "白") == ["小白, hello again"])
                    #expect(try await texts(owner, room, "world hel") == ["Hello wörld"])
                    let byAnn = try await owner.search(
                        SearchRequest(room: room, text: "hel", user: try user("ann"), limit: 1))
                    #expect(byAnn.messages.map(\.messageID) == [second.messageID] && byAnn.next != nil)
                    let rest = try await owner.search(
                        SearchRequest(room: room, text: "hel", user: try user("ann"), after: byAnn.next))
                    #expect(rest.messages.map(\.messageID) == [first.messageID])

                    _ = try await ann.done(
                        .amend(
                            AmendRequest(
                                room: room, messageID: first.messageID, set: MessageChanges(text: "Good bye"))))
                    _ = try await owner.done(.recall(RecallRequest(room: room, messageID: third.messageID)))
                    // Never kept: it is shown to bob alone.
                    var directed = MessageDraft(body: .text("hello bob"))
                    directed.to = [try user("owner")]
                    _ = try await ann.post(room, directed)
                    #expect(try await texts(owner, room, "hel") == ["小白, hello again"])
                    #expect(try await texts(owner, room, "good") == ["Good bye"])

                    await node.kill()
                    try await node.start()
                    let again = try await TestClient.entered(node, "owner", room)
                    #expect(try await texts(again, room, "hel") == ["小白, hello again"])
                    #expect(try await texts(again, room, "bye") == ["Good bye"])
                }
            }
        }

        @Test func `texts of all types are looked into, and quotes are not`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("types", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let bodies: [MessageBody] = [
                    .text("needle one"), .tip("needle two"),
                    .file(Media(url: "https://a.example/x", name: "needle three.pdf", size: 1, contentType: "a/b")),
                    .location(latitude: 1, longitude: 2, title: "needle four"),
                    .custom(content: "needle five", subtype: 1, searchable: "needle six"),
                ]
                for body in bodies { _ = try await owner.post(room, MessageDraft(body: body)) }
                let found = try await owner.search(SearchRequest(room: room, text: "needle")).messages
                #expect(found.map(\.body) == bodies.reversed())
                #expect(try await owner.search(SearchRequest(room: room, text: "needle five")).messages.isEmpty)
                var reply = MessageDraft(body: .text("yes"))
                reply.replyTo = found.last?.messageID
                _ = try await owner.post(room, reply)
                let again = try await owner.search(SearchRequest(room: room, text: "one"))
                #expect(again.messages.compactMap(\.text) == ["needle one"])
                let files = try await owner.search(SearchRequest(room: room, text: "needle", types: [.file, .tip]))
                #expect(files.messages.map(\.body) == [bodies[2], bodies[1]])
                let combined = try await owner.post(
                    room,
                    MessageDraft(
                        body: .combine(
                            title: "straw", summary: "hay", messageIDs: [try #require(found.last?.messageID)])))
                for text in ["straw", "hay"] {
                    let hits = try await owner.search(SearchRequest(room: room, text: text)).messages
                    #expect(hits.map(\.messageID) == [combined.messageID])
                }
            }
        }

        @Test func `others may not search, two a second are allowed, and what can't be looked for is refused`()
            async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("refused", creator: "owner")
                let ann = try await TestClient.entered(node, "ann", room)
                let owner = try await TestClient.entered(node, "owner", room)
                let request = SearchRequest(room: room, text: "x")
                #expect(try await ann.refusal(of: .search(request)).code == .forbidden)
                let answers = try await owner.askAtOnce((0..<6).map { _ in .search(request) })
                let refused = answers.filter {
                    if case .failure(let error) = $0 { error.code == .tooOften } else { false }
                }
                #expect(refused.count == 4, "\(answers)")
                #expect(try await owner.history(room).messages.isEmpty, "other reads have their own rate")
                let wrong: [(SearchRequest, ErrorCode, String)] = [
                    (SearchRequest(room: room, text: "?!"), .badParameter, "text"),
                    (SearchRequest(room: room, text: "x", after: "a"), .badParameter, "after"),
                    (SearchRequest(room: room, text: "x", after: "01"), .badParameter, "after"),
                    (SearchRequest(room: room, text: "x", after: "1."), .badParameter, "after"),
                    (SearchRequest(room: room, text: "x", after: "1.2.3"), .badParameter, "after"),
                    (SearchRequest(room: room, text: String(repeating: "小", count: 65)), .tooLarge, "text"),
                    (SearchRequest(room: room, text: String(repeating: "x", count: 257)), .tooLarge, "text"),
                ]
                for (request, code, field) in wrong {
                    do {
                        _ = try await owner.search(request)
                        Issue.record("\(request) was answered")
                    } catch let error as ChatError {
                        #expect(error.code == code && error.field == field, "\(request)")
                    }
                }
                _ = try await owner.search(SearchRequest(room: room, text: String(repeating: "小", count: 64)))
            }
        }

        @Test func `a damaged index is counted, made anew, and hides nothing`() async throws {
            try await TestNode.run(["search": ["ahead": true]]) { node in
                let room = try await node.createRoom("damaged", creator: "owner")
                var owner = try await TestClient.entered(node, "owner", room)
                for number in 1...3 { _ = try await owner.send(room, "needle \(number)") }
                #expect(try await texts(owner, room, "needle").count == 3)
                #expect(try await node.metric("chatroom_search_index_rebuilds_total ") == 0)
                // A start does not wait for others, as a new file does.
                _ = try await node.stop()
                try await node.start()
                try await poll("an index") { try await node.metric("chatroom_search_incomplete_files ") == 0 }
                _ = try await node.stop()
                let all = try FileManager.default.subpathsOfDirectory(atPath: node.dataPath)
                let indexes = all.filter { $0.contains("/search-") && $0.hasSuffix(".sqlite") }
                #expect(indexes.count == 1)
                for path in indexes {
                    let url = URL(fileURLWithPath: node.dataPath + "/" + path)
                    try Data(repeating: 0x5A, count: 8_192).write(to: url)
                }
                try await node.start()
                owner = try await TestClient.entered(node, "owner", room)
                #expect(try await texts(owner, room, "needle").count == 3)
                try await poll("the index") {
                    let rebuilds = try await node.metric("chatroom_search_index_rebuilds_total ")
                    let incomplete = try await node.metric("chatroom_search_incomplete_files ")
                    return rebuilds >= 1 && incomplete == 0
                }
                #expect(try await node.metric("chatroom_search_index_errors_total ") >= 1)
                #expect(try await node.metric("chatroom_search_waiting_rows ") == 0)
                #expect(try await texts(owner, room, "needle").count == 3)
            }
        }

        @Test func `the server API searches, and a setting turns it off`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("api", creator: "owner")
                let ann = try await TestClient.entered(node, "ann", room)
                _ = try await ann.send(room, "needle")
                let answer = try await node.api("GET", "/v1/rooms/api/search?text=NEED&user=ann&types=TEXT&limit=1")
                #expect(answer.status == 200 && answer.body.contains(#""text":"needle""#), "\(answer.body)")
                let none = try await node.api("GET", "/v1/rooms/api/search?text=%E5%B0%8F&endTime=1")
                #expect(none.status == 200 && none.body == #"{"messages":[]}"#, "\(none.body)")
                #expect(try await node.api("GET", "/v1/rooms/nobody/search?text=a").status == 404)
            }
            try await TestNode.run(["search": ["enabled": false]]) { node in
                let room = try await node.createRoom("off", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let refusal = try await owner.refusal(of: .search(SearchRequest(room: room, text: "x")))
                #expect(refusal.code == .unavailable && refusal.message.contains("search.enabled"))
                let answer = try await node.api("GET", "/v1/rooms/off/search?text=x")
                #expect(answer.status == 503 && answer.body.contains("search.enabled"), "\(answer.body)")
            }
        }
    }
}

extension IntegrationTests.ClusterTests {
    /// Search in a room that another node leads, and after its leader has died.
    @Suite struct Search {
        private func found(_ client: TestClient, _ room: RoomID, _ text: String) async throws -> [String] {
            try await retrying("search") {
                try await client.search(SearchRequest(room: room, text: text)).messages.compactMap(\.text)
            }
        }

        @Test func `any node answers, and the next leader finds what the one before did`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("searched")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let sue = try await TestClient.connected(follower, "owner")
            let tom = try await TestClient.connected(other, "tom")
            try await retrying("enter") { _ = try await sue.enter(room) }
            try await retrying("enter") { _ = try await tom.enter(room) }
            let texts = (1...5).map { "needle \($0)" }
            var sent: [SendResult] = []
            for text in texts { sent.append(try await tom.send(room, text, clientID: text)) }
            #expect(try await found(sue, room, "need") == texts.reversed())
            let recalled = RecallRequest(room: room, messageID: sent[1].messageID)
            _ = try await tom.ask(.recall(recalled)).get()
            await leader.kill()
            let left = texts.filter { $0 != texts[1] }
            #expect(try await found(sue, room, "need") == left.reversed())
            #expect(try await found(sue, room, "needle 2").isEmpty)
            try await cluster.start([leader])
            try await cluster.transfer(room, to: leader)
            #expect(try await found(sue, room, "need") == left.reversed())
        }
    }
}
