import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// No frame to a client has more than 256 KB, whatever a room holds; what does not fit is on the next page.
    @Suite struct FrameSizeTests {
        private static var rates: [String: Any] { TestNode.highRates }

        /// As long as a value may be, and as JSON six times as long.
        private static let worst = String(repeating: "\u{1}", count: 4096)
        private static let plain = String(repeating: "v", count: 4096)

        private func expectBounded(_ clients: TestClient...) async {
            for client in clients {
                let longest = await client.longestFrame
                #expect(longest <= Limits.frameBytes, "a frame of \(longest) bytes")
            }
        }

        private func fill(_ client: TestClient, _ room: RoomID, _ count: Int, _ value: String, transient: Bool = false)
            async throws
        {
            var ids: [UInt32] = []
            for number in 0..<count {
                var request = QueueSetRequest(room: room, key: "k\(number)", value: value)
                request.transient = transient
                ids.append(await client.begin(.queueSet(request)))
            }
            for id in ids { _ = try await client.reply(to: id).get() }
        }

        @Test(arguments: ClientEncoding.allCases)
        func `a queue of 400 long elements comes in pages, by enter and by queue`(_ encoding: ClientEncoding)
            async throws
        {
            try await TestNode.run(["session": Self.rates], encoding: encoding) { node in
                for (name, value, count) in [("plain", Self.plain, 400), ("worst", Self.worst, 60)] {
                    let room = try await node.createRoom(name)
                    let ann = try await TestClient.entered(node, "ann", room)
                    try await fill(ann, room, count, value)
                    let bob = try await TestClient.connected(node, "bob")
                    var request = EnterRequest(room: room)
                    request.withQueue = true
                    guard case .enter(let entered) = try await bob.ask(.enter(request)).get() else {
                        throw TestFailure("enter has another result")
                    }
                    var keys = (entered.queue ?? []).map(\.key)
                    #expect(!keys.isEmpty && keys.count < count)
                    var next = try #require(entered.queueNext, "it says that there is more")
                    var pages = 0
                    while true {
                        var page = QueueRequest(room: room)
                        page.after = next
                        guard case .queue(let result) = try await bob.ask(.queue(page)).get() else {
                            throw TestFailure("queue has another result")
                        }
                        #expect(!result.elements.isEmpty)
                        keys += result.elements.map(\.key)
                        pages += 1
                        guard let more = result.next else { break }
                        next = more
                    }
                    #expect(keys == (0..<count).map { "k\($0)" }, "each once, in order")
                    #expect(pages > 1)
                    await expectBounded(ann, bob)
                    await bob.socket.close()
                }
            }
        }

        @Test(arguments: ClientEncoding.allCases)
        func `seats that fill 1 MB go in several 320s without a hole when their owner leaves`(
            _ encoding: ClientEncoding
        )
            async throws
        {
            try await TestNode.run(["session": Self.rates], encoding: encoding) { node in
                let room = try await node.createRoom("seats")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                try await fill(bob, room, 250, Self.plain, transient: true)
                _ = try await bob.ask(.exit(RoomNameRequest(room: room))).get()
                func gone() async -> [Message] {
                    await ann.messages(of: room).filter { $0.notification?.event == .queueBatchChanged }
                }
                func keys(_ messages: [Message]) -> [String] {
                    messages.flatMap { message -> [String] in
                        guard case .queueBatch(.partClear, let elements)? = message.notification?.data else {
                            return []
                        }
                        return elements.map(\.key)
                    }
                }
                try await poll("all seats") { keys(await gone()).count == 250 }
                #expect(keys(await gone()) == (0..<250).map { "k\($0)" })
                #expect(await gone().count > 3)
                let seqs = await ann.messages(of: room).compactMap(\.seq)
                #expect(seqs == Array(1...UInt64(seqs.count)))
                await expectBounded(ann, bob)
            }
        }

        @Test(arguments: ClientEncoding.allCases)
        func `what was missed is cut by bytes, and history tells the rest`(_ encoding: ClientEncoding) async throws {
            try await TestNode.run(["session": Self.rates], encoding: encoding) { node in
                let room = try await node.createRoom("missed")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.connected(node, "bob")
                let first = try await bob.enter(room)
                let (count, worst) = (UInt64(30), UInt64(31))
                for _ in 0..<count { try await ann.send(room, String(repeating: "x", count: 30_000)) }
                try await ann.send(room, String(repeating: "\u{1}", count: 32 * 1024))
                func missed(since: UInt64) async throws -> EnterResult {
                    let back = try await TestClient.connected(node, "bob")
                    var request = EnterRequest(room: room)
                    (request.since, request.epoch, request.withQueue) = (since, first.epoch, true)
                    guard case .enter(let result) = try await back.ask(.enter(request)).get() else {
                        throw TestFailure("enter has another result")
                    }
                    await expectBounded(back)
                    return result
                }
                let result = try await missed(since: 0)
                #expect(result.recovered == true && result.missedMore == true && result.seq == worst)
                let seqs = (result.missed ?? []).compactMap(\.seq)
                #expect(seqs.count >= 2 && seqs == Array(1...UInt64(seqs.count)))
                // One that fills a frame by itself, in JSON at least: it comes, or it is in history.
                let last = try await missed(since: count)
                #expect(last.recovered == true)
                #expect((last.missedMore == true) == (last.missed ?? []).isEmpty)
                let none = try await missed(since: worst)
                #expect(none.recovered == true && none.missedMore == false)
                await expectBounded(ann, bob)
            }
        }

        @Test(arguments: ClientEncoding.allCases)
        func `members with long profiles come in pages, and twenty by ID are refused where they do not fit`(
            _ encoding: ClientEncoding
        ) async throws {
            try await TestNode.run(["session": Self.rates], encoding: encoding) { node in
                let room = try await node.createRoom("crowd")
                var clients: [TestClient] = []
                for number in 0..<20 {
                    let client = try await TestClient.connected(node, "u\(number)")
                    try await client.enter(
                        EnterRequest(room: room, nick: "n", avatar: "a", ext: Self.worst))
                    clients.append(client)
                }
                let ann = clients[0]
                var users: [String] = []
                var request = MembersRequest(room: room, kind: .temporary)
                request.limit = 100
                repeat {
                    guard case .members(let page) = try await ann.ask(.members(request)).get() else {
                        throw TestFailure("members has another result")
                    }
                    #expect(!page.members.isEmpty && page.members.count < 20)
                    users += page.members.map(\.user.text)
                    request.after = page.next
                } while request.after != nil
                #expect(users.count == 20 && Set(users).count == 20)
                let all = try users.map { try #require(UserID($0)) }
                let error = try await ann.refusal(of: .membersById(MembersByIDRequest(room: room, users: all)))
                #expect(error.code == .tooLarge && error.field == "users")
                let few = MembersByIDRequest(room: room, users: Array(all[..<7]))
                guard case .membersById(let found) = try await ann.ask(.membersById(few)).get() else {
                    throw TestFailure("membersById has another result")
                }
                #expect(found.members.count == 7)
                await expectBounded(ann)
            }
        }

        @Test(arguments: ClientEncoding.allCases)
        func `a window of long barrages comes in frames of at most 256 KB`(_ encoding: ClientEncoding) async throws {
            try await TestNode.run(["session": Self.rates], encoding: encoding) { node in
                let room = try await node.createRoom("loud")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                let text = String(repeating: "\u{1}", count: 5000)
                // A frame of theirs has 1 MB at most, and each of these texts is 30 KB of JSON.
                for part in 0..<6 {
                    await ann.write(
                        (part * 25..<part * 25 + 25).map {
                            ClientRequest(
                                id: nil, operation: .barrage(BarrageRequest(room: room, text: "\($0)" + text)))
                        })
                }
                func shown(_ client: TestClient) async -> Int {
                    await client.items.reduce(0) { count, item in
                        switch item {
                        case .push(.barrage(let push)): count + push.items.count
                        case .push(.skipped(let push)): count + Int(push.barrage)
                        default: count
                        }
                    }
                }
                try await poll("all of it, shown or told") { await shown(bob) >= 150 }
                try await poll("all of it, shown or told") { await shown(ann) >= 150 }
                #expect(await shown(bob) == 150)
                #expect(await shown(ann) == 150)
                await expectBounded(ann, bob)
            }
        }
    }
}
