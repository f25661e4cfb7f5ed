import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// A client that does not read costs the others nothing, and is told what it lost.
    @Suite struct SlowReaderTests {
        @Test(arguments: ClientEncoding.allCases)
        func `a slow reader is told exactly what it was not given`(_ encoding: ClientEncoding) async throws {
            // Who does not read answers no ping either, and must not be given up for that.
            let settings = TestNode.highRates.merging(["heartbeatSeconds": 600]) { $1 }
            try await TestNode.run(["session": settings], encoding: encoding) { node in
                let room = try await node.createRoom("flood")
                let sender = try await TestClient.connected(node, "sender")
                let other = try await TestClient.connected(node, "other")
                let slow = try await TestClient.connected(node, "slow")
                for client in [sender, other, slow] { try await client.enter(room) }
                await slow.socket.stopReading()

                let large = String(repeating: "x", count: 32 * 1024 - 8)
                var count: UInt64 = 0
                // What fits into the system's buffers depends on the machine: until the node has dropped something.
                while try await node.metric("chatroom_dropped_total", labels: #"cause="slow""#) == 0 {
                    var underWay: [UInt32] = []
                    for _ in 0..<40 { underWay.append(await sender.begin(.text(room, large))) }
                    for id in underWay { _ = try await sender.reply(to: id).get() }
                    count += 40
                    try #require(count < 4000, "a reader that has stopped must lose something")
                }
                try await sender.send(room, "unread")
                count += 1
                try await other.message("unread")
                #expect(await other.messages(of: room).compactMap(\.seq) == Array(1...count), "others are unharmed")

                await slow.socket.startReading()
                let gap = try await slow.item("a gap") { item -> GapPush? in
                    if case .push(.gap(let push)) = item { push } else { nil }
                }
                #expect(gap.room == room && gap.cause == .slow)
                // It reads again: what is sent now reaches it.
                var rounds = 0
                repeat {
                    rounds += 1
                    count += 1
                    try await sender.send(room, "after \(rounds)")
                } while try await !hasSettled(slow, seq: count)

                try await expectAccounted(slow, room, count)
                var query = HistoryRequest()
                query.ascending = true
                query.afterSeq = gap.ranges[0].from - 1
                query.limit = 5
                let kept = try await slow.history(room, query)
                #expect(kept.messages.first?.seq == gap.ranges[0].from, "what was lost is in history")
            }
        }

        /// Waits until the message came or was named lost; whether it came.
        private func hasSettled(_ client: TestClient, seq: UInt64) async throws -> Bool {
            try await client.item("seq \(seq) or its loss") { item -> Bool? in
                switch item {
                case .push(.message(let message)) where message.seq == seq: true
                case .push(.gap(let gap)) where gap.ranges.contains { ($0.from...$0.to).contains(seq) }: false
                default: nil
                }
            }
        }

        /// Every seq either came, in order, or is in one gap, and none is in both.
        private func expectAccounted(_ client: TestClient, _ room: RoomID, _ count: UInt64) async throws {
            var next: UInt64 = 1
            for item in await client.items {
                switch item {
                case .push(.message(let message)):
                    guard let seq = message.seq else { continue }
                    #expect(seq == next, "messages and gaps come in order and without a hole")
                    next = seq + 1
                case .push(.gap(let gap)):
                    for range in gap.ranges {
                        #expect(range.from == next && range.to >= range.from)
                        next = range.to + 1
                    }
                default: continue
                }
            }
            #expect(next == count + 1)
        }
    }
}
