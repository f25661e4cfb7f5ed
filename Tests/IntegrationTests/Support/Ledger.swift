import ChatModel
import Testing
import WaitTestKit
import Wire

/// A room under load from several nodes, and the proof that nothing acked is lost, repeated or out of order.
struct Ledger: Sendable {
    let cluster: TestCluster
    let room: RoomID
    let writers: [LedgerWriter]
    let viewers: [LedgerViewer]

    /// One writer and one viewer at each node that answers.
    init(_ cluster: TestCluster, _ room: RoomID, at homes: [TestNode]? = nil) async throws {
        self.cluster = cluster
        self.room = room
        let homes = homes ?? cluster.answering
        writers = homes.enumerated().map { LedgerWriter("writer\($0)", room, home: $1, cluster) }
        viewers = homes.enumerated().map { LedgerViewer("viewer\($0)", room, home: $1, cluster) }
        for viewer in viewers { try await viewer.enter() }
    }

    /// Runs the load while `body` does to the nodes what it does, then compares everything with everything.
    func run(_ body: @escaping @Sendable (Ledger) async throws -> Void) async throws {
        var parts: [@Sendable () async throws -> Void] = []
        for writer in writers { parts.append { try await writer.run() } }
        for viewer in viewers { parts.append { try await viewer.run() } }
        parts.append {
            try await acks(20)
            try await body(self)
            try await acks(10)
            for writer in writers { await writer.stop() }
            try await audit()
            for viewer in viewers { await viewer.stop() }
        }
        try await together(parts) {
            for writer in writers { await writer.stop() }
            for viewer in viewers { await viewer.stop() }
        }
    }

    /// Waits until every writer has so many more acks.
    func acks(_ more: Int) async throws {
        for writer in writers { try await writer.acks(more) }
    }

    /// Asks a node that answers for all that is kept.
    func history() async throws -> [Message] {
        try await retrying("the history of \(room)") {
            let auditor = try await TestClient.connected(cluster.any, "auditor")
            try await auditor.enter(room)
            let kept = try await auditor.wholeHistory(room)
            await auditor.socket.close()
            return kept
        }
    }

    private func audit() async throws {
        // What was being sent when they were stopped is acked first.
        var acked: [String: SendResult] = [:]
        for writer in writers {
            try await poll("the writers have stopped") { await writer.hasEnded }
            acked.merge(await writer.acked) { first, _ in first }
        }
        let kept = try await history()
        let texts = kept.filter { $0.text != nil }
        #expect(kept.compactMap(\.seq) == Array(1..<UInt64(kept.count + 1)), "seq has no hole")
        #expect(texts.count == acked.count, "everything acked is kept once, and nothing else")
        for message in texts {
            let ack = try #require(acked[message.clientID ?? ""], "\(message) was never acked")
            #expect(ack.place == message.place && ack.messageID == message.messageID && ack.time == message.time)
            #expect(message.text == message.clientID)
        }
        for viewer in viewers { try await viewer.audit(kept) }
    }
}

/// What `body` returns, as soon as it is not refused with 503.
func retrying<Value>(_ what: String, _ body: () async throws -> Value) async throws -> Value {
    let deadline = ContinuousClock.now + .seconds(60)
    while true {
        do {
            return try await body()
        } catch let error as ChatError {
            guard error.code == .unavailable, ContinuousClock.now < deadline else { throw error }
            try await Task.sleep(for: .milliseconds(50))
        }
    }
}
