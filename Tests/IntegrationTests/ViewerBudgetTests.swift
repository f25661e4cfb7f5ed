import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// What viewers of a big room get, and what they are told of the rest.
    @Suite struct ViewerBudgetTests {
        /// A room is big with four people in it.
        private static var small: [String: Any] { ["rooms": ["viewerBudgetAboveOnline": 3]] }

        @Test func `up to the threshold everybody gets everything, above it the budget holds`() async throws {
            try await TestNode.run(Self.small) { node in
                let room = try await node.createRoom("big", fields: #","viewerBudget":10,"enterExitNotify":"NONE""#)
                let clients = try await ["ann", "bob", "cid"].asyncMap { try await TestClient.connected(node, $0) }
                for client in clients { try await client.enter(room) }
                try await burst(clients[0], room, 60)
                for client in clients { #expect(try await seqs(client, room, through: 60) == Array(1...60)) }

                let dan = try await TestClient.connected(node, "dan")
                #expect(try await dan.enter(room).seq == 60)
                // The lanes hear of the fourth viewer a moment later, and a burst may be over by then.
                var end: UInt64 = 60
                var counts: [Int] = []
                repeat {
                    let before = end
                    end += 60
                    try await burst(clients[0], room, 60)
                    counts = try await (clients.dropFirst() + [dan]).asyncMap { client in
                        try await seqs(client, room, through: end).count { $0 > before }
                    }
                } while counts.contains(60) && end < 600
                #expect(counts.allSatisfy { $0 < 60 }, "\(counts)")
                // All is in history, in its order.
                #expect(try await dan.wholeHistory(room).compactMap(\.seq) == Array(1...end))
            }
        }

        @Test func `unkept messages that were left out are counted exactly`() async throws {
            try await TestNode.run(["rooms": ["viewerBudgetAboveOnline": 0]]) { node in
                let room = try await node.createRoom("signals", fields: #","viewerBudget":5,"enterExitNotify":"NONE""#)
                let ann = try await TestClient.connected(node, "ann")
                let bob = try await TestClient.connected(node, "bob")
                for client in [ann, bob] { try await client.enter(room) }
                var ids: [UInt32] = []
                for number in 1...50 {
                    var draft = MessageDraft(body: .command(payload: [7]))
                    draft.ext = "\(number)"
                    ids.append(
                        await ann.begin(.send(SendRequest(room: room, clientID: "c\(number)", draft: draft))))
                }
                for id in ids { _ = try await ann.reply(to: id).get() }
                for client in [ann, bob] {
                    try await client.wait(for: "the rest, or its count") {
                        await unkept(client, room) < 50 ? nil : ()
                    }
                    #expect(await unkept(client, room) == 50)
                }
                #expect(await bob.messages(of: room).count < 50)
            }
        }

        @Test func `what a leader had still to tell as left out is told when another leads`() async throws {
            try await TestCluster.run(3, shards: 1, rooms: ["viewerBudgetAboveOnline": 3]) { cluster in
                try await cluster.start(3)
                let room = try await cluster.room("moved")
                let (leader, follower, other) = try await cluster.roles(in: room)
                let change = #"{"viewerBudget":10,"enterExitNotify":"NONE"}"#
                #expect(try await leader.api("PATCH", "/v1/rooms/\(room)", change).status == 200)
                let clients = try await ["ann", "bob", "cid", "dan"].asyncMap { name in
                    try await TestClient.connected(name == "dan" ? other : follower, name)
                }
                for client in clients { try await client.enter(room) }
                let end = try #require(try await burst(clients[0], room, 60).last)
                // Within the second in which it says nothing of the last of them.
                try await cluster.transfer(room, to: other)
                for client in clients {
                    let got = try await seqs(client, room, through: end)
                    #expect(got.count < Int(end))
                }
            }
        }

        /// The unkept messages that came and those that were told as skipped.
        private func unkept(_ client: TestClient, _ room: RoomID) async -> Int {
            await client.items.reduce(0) { sum, item in
                switch item {
                case .push(.message(let message)) where message.room == room && message.seq == nil: sum + 1
                case .push(.skipped(let skipped)) where skipped.room == room: sum + Int(skipped.unkept)
                default: sum
                }
            }
        }

        /// Sends so many messages and does not wait for one before the next; their seqs.
        @discardableResult
        private func burst(_ client: TestClient, _ room: RoomID, _ count: Int) async throws -> [UInt64] {
            var ids: [UInt32] = []
            for number in 0..<count { ids.append(await client.begin(.text(room, "\(number)"))) }
            var seqs: [UInt64] = []
            for id in ids { seqs.append(try seq(of: await client.reply(to: id).get())) }
            return seqs
        }

        private func seq(of result: OperationResult) throws -> UInt64 {
            guard case .send(let sent) = result, case .kept(let seq) = sent.place else {
                throw TestFailure("no seq in \(result)")
            }
            return seq
        }

        /// Waits until every seq up to `end` has come or was named by a BUDGET gap; checks the order, and that nothing
        /// comes after the gap that names it. Those that came.
        private func seqs(_ client: TestClient, _ room: RoomID, through end: UInt64) async throws -> [UInt64] {
            try await client.wait(for: "seq \(end) or its gap") {
                var (got, named, first): ([UInt64], Set<UInt64>, UInt64) = ([], [], 1)
                for item in await client.items {
                    switch item {
                    case .reply(_, .success(.enter(let result))): first = result.seq + 1
                    case .push(.message(let message)):
                        guard let seq = message.seq else { continue }
                        #expect(seq > got.last ?? 0 && !named.contains(seq))
                        got.append(seq)
                    case .push(.gap(let gap)):
                        #expect(gap.cause == .budget && gap.room == room)
                        for range in gap.ranges { named.formUnion(range.from...range.to) }
                    default: continue
                    }
                }
                let known = named.union(got)
                if first > end || (first...end).allSatisfy({ known.contains($0) }) { return got }
                return nil
            }
        }
    }
}
