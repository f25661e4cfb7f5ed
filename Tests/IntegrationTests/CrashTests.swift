import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// `kill -9` under load: what was acked is there once, and clients find their place again.
    @Suite struct CrashTests {
        /// What one sender tried in one room: its `clientId`s, and the acks that came.
        struct Attempts: Sendable {
            var room: RoomID
            var sent: [String] = []
            var acked: [String: SendResult] = [:]
        }

        @Test func `nothing acked is lost or doubled when the node is killed under load`() async throws {
            try await TestNode.run { node in
                let rooms = [try await node.createRoom("one"), try await node.createRoom("two")]
                var acked: [RoomID: [String: SendResult]] = [:]
                for round in 1...4 {
                    try await self.round(round, node, rooms, &acked)
                }
            }
        }

        private func round(
            _ round: Int, _ node: TestNode, _ rooms: [RoomID], _ acked: inout [RoomID: [String: SendResult]]
        ) async throws {
            let viewer = try await TestClient.connected(node, "viewer")
            var before: [RoomID: EnterResult] = [:]
            for room in rooms { before[room] = try await viewer.enter(room) }
            let attempts = try await load(node, rooms, round, viewer, until: UInt64(40 + 90 * round))

            let seen = Dictionary(grouping: await rooms.asyncMap { await viewer.messages(of: $0) }.joined()) { $0.room }
            try await node.start()
            let session = await viewer.session
            let back = try await TestClient.open(port: node.clientPort)
            let connected = try await back.connect(token: node.token("viewer"), session: session)
            #expect(!connected.resumed, "sessions die with their node")

            for room in rooms {
                let live = (seen[room] ?? []).filter { $0.seq != nil }
                let start = try #require(before[room])
                try await resume(back, room, live, start)
            }
            for attempt in attempts {
                acked[attempt.room, default: [:]].merge(attempt.acked) { first, _ in first }
            }
            let retried = try await retry(node, attempts)
            for (room, results) in retried {
                acked[room, default: [:]].merge(results) { first, second in
                    #expect(first == second, "a repeated clientId gives the first result")
                    return first
                }
            }
            for room in rooms { try await audit(back, room, acked[room] ?? [:]) }
        }

        /// Lets senders send as fast as they can until the viewer has seen `until` messages of a room, then kills.
        private func load(
            _ node: TestNode, _ rooms: [RoomID], _ round: Int, _ viewer: TestClient, until more: UInt64
        ) async throws -> [Attempts] {
            let mark = await viewer.items.count
            return try await withThrowingTaskGroup(of: Attempts.self) { group in
                for number in 0..<4 {
                    let room = rooms[number % rooms.count]
                    let sender = try await TestClient.connected(node, "sender\(number)")
                    try await sender.enter(room)
                    group.addTask { try await Self.pump(sender, room, prefix: "r\(round)s\(number)-") }
                }
                try await viewer.item("\(more) messages", from: mark) { [first = rooms[0]] item -> Void? in
                    guard case .push(.message(let message)) = item, message.room == first,
                        let text = message.text, let number = UInt64(text.split(separator: "-").last ?? ""),
                        number >= more
                    else { return nil }
                    return ()
                }
                await node.kill()
                try await viewer.closing()
                var all: [Attempts] = []
                for try await attempt in group { all.append(attempt) }
                #expect(all.contains { !$0.acked.isEmpty })
                return all
            }
        }

        /// Keeps 16 sends under way until the connection ends.
        private static func pump(_ sender: TestClient, _ room: RoomID, prefix: String) async throws -> Attempts {
            var attempts = Attempts(room: room)
            var underWay: [(id: UInt32, clientID: String)] = []
            while true {
                while underWay.count < 16 {
                    let clientID = "\(prefix)\(attempts.sent.count + 1)"
                    attempts.sent.append(clientID)
                    underWay.append((await sender.begin(.text(room, clientID, clientID: clientID)), clientID))
                }
                let (id, clientID) = underWay.removeFirst()
                do {
                    guard case .send(let result) = try await sender.reply(to: id).get() else {
                        throw TestFailure("send has another result")
                    }
                    attempts.acked[clientID] = result
                } catch let error as ChatError {
                    throw TestFailure("a send was refused: \(error)")
                } catch {
                    // The connection has ended: what else was acked is among the replies.
                    for (id, clientID) in underWay {
                        guard case .send(let result)? = try await sender.replyIfAny(to: id)?.get() else { continue }
                        attempts.acked[clientID] = result
                    }
                    return attempts
                }
            }
        }

        /// The viewer enters where it stopped: what it saw and what it missed are together without hole or doublet.
        private func resume(
            _ viewer: TestClient, _ room: RoomID, _ seen: [Message], _ start: EnterResult
        ) async throws {
            let since = seen.last?.seq ?? start.seq
            #expect(seen.compactMap(\.seq) == Array(start.seq &+ 1..<since &+ 1), "the live stream has no hole")
            let entered = try await viewer.enter(room, since: since, epoch: start.epoch)
            #expect(entered.recovered == true)
            #expect(entered.epoch == start.epoch)
            var missed = entered.missed ?? []
            #expect(missed.count <= 100)
            if entered.missedMore == true {
                missed += try await viewer.wholeHistory(room, after: missed.last?.seq ?? since).filter {
                    ($0.seq ?? 0) <= entered.seq
                }
            }
            #expect(missed.compactMap(\.seq) == Array(since &+ 1..<entered.seq &+ 1), "what was missed has no hole")
            let kept = try await viewer.wholeHistory(room)
            for message in seen + missed {
                let seq = Int(message.seq ?? 0)
                #expect(seq >= 1 && seq <= kept.count && kept[seq - 1] == message, "seen and kept are the same")
            }
        }

        /// Every sender comes back, repeats all that was not acked and a part of what was.
        private func retry(_ node: TestNode, _ attempts: [Attempts]) async throws -> [RoomID: [String: SendResult]] {
            var results: [RoomID: [String: SendResult]] = [:]
            for attempt in attempts {
                guard let prefix = attempt.sent.first?.split(separator: "s").last?.first else { continue }
                let sender = try await TestClient.connected(node, "sender\(prefix)")
                try await sender.enter(attempt.room)
                let unacked = attempt.sent.filter { attempt.acked[$0] == nil }
                let some = attempt.sent.filter { attempt.acked[$0] != nil }.suffix(20)
                for clientID in unacked + some {
                    results[attempt.room, default: [:]][clientID] = try await sender.send(
                        attempt.room, clientID, clientID: clientID)
                }
            }
            return results
        }

        /// History holds every acked message once, where its ack said, and nothing else; seq has no hole.
        private func audit(_ viewer: TestClient, _ room: RoomID, _ acked: [String: SendResult]) async throws {
            let kept = try await viewer.wholeHistory(room)
            #expect(kept.compactMap(\.seq) == Array(1..<UInt64(kept.count + 1)))
            #expect(kept.count == acked.count)
            #expect(Set(kept.compactMap(\.clientID)).count == kept.count)
            for message in kept {
                let ack = try #require(acked[message.clientID ?? ""], "\(message) was never sent")
                #expect(ack.place == message.place && ack.messageID == message.messageID && ack.time == message.time)
                #expect(message.text == message.clientID)
            }
        }

        @Test func `what a room and its members are survives a kill`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("state", creator: "ann")
                let ann = try await TestClient.connected(node, "ann")
                let bob = try await TestClient.connected(node, "bob")
                try await ann.enter(room)
                try await bob.enter(room)
                guard let name = UserID("bob") else { throw TestFailure("no user ID") }
                _ = try await ann.ask(
                    .setManager(UserFlagRequest(room: room, user: name, enable: true, clientID: "promote"))
                ).get()
                var changes = RoomChanges()
                changes.name = "Renamed"
                _ = try await bob.ask(.updateRoom(UpdateRoomRequest(room: room, set: changes))).get()
                _ = try await ann.ask(.setMute(UserFlagRequest(room: room, user: name, enable: true))).get()
                await node.kill()
                try await node.start()
                let back = try await TestClient.connected(node, "bob")
                let entered = try await back.enter(room)
                #expect(entered.room.info.name == "Renamed")
                #expect(entered.me.role == .manager && entered.me.muted)
                #expect(entered.seq == 3)
                #expect(try await back.refusal(of: .text(room, "hm")).code == .muted)
                let events = try await back.wholeHistory(room).compactMap(\.notification?.event)
                #expect(events == [.managerSet, .roomInfoUpdated, .muted])
                // Repeated after the restart, it changes nothing and tells nobody.
                let again = try await TestClient.connected(node, "ann")
                try await again.enter(room)
                _ = try await again.ask(
                    .setManager(UserFlagRequest(room: room, user: name, enable: true, clientID: "promote"))
                ).get()
                #expect(try await again.wholeHistory(room).count == 3)
            }
        }
    }
}

extension Sequence where Element: Sendable {
    /// One after the other.
    func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
