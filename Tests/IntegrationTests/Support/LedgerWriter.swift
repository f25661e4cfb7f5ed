import ChatModel
import WaitTestKit
import Wire

/// Sends one message after the other to a room, each under its `clientId` until it is acked, through whichever node
/// answers.
actor LedgerWriter {
    /// No fault of these tests may keep a message from being acked for longer.
    private static let limit = Duration.seconds(60)

    private let cluster: TestCluster
    private let room: RoomID
    private let name: String
    private var home: TestNode
    private var client: TestClient?
    private var isStopping = false
    private(set) var hasEnded = false
    private(set) var acked: [String: SendResult] = [:]
    /// From the first try of a message to its ack, the longest.
    private(set) var longest = Duration.zero
    /// Connections that ended without a `reconnect` before.
    private(set) var unannouncedEnds = 0
    /// Connections that ended.
    private(set) var ends = 0
    /// Answers 503.
    private(set) var refusals = 0
    private let changes = Changes()

    init(_ name: String, _ room: RoomID, home: TestNode, _ cluster: TestCluster) {
        (self.name, self.room, self.home, self.cluster) = (name, room, home, cluster)
    }

    func stop() { isStopping = true }

    /// Sends until it is told to stop, at least one.
    func run() async throws {
        var number = 0
        repeat {
            number += 1
            let clientID = "\(name)-\(number)"
            let begun = ContinuousClock.now
            while acked[clientID] == nil {
                acked[clientID] = try await attempt(clientID)
                guard ContinuousClock.now < begun + Self.limit else {
                    throw TestFailure("\(clientID) was never acked; \(refusals) refusals, \(ends) ends")
                }
            }
            longest = max(longest, ContinuousClock.now - begun)
            changes.note()
            // Others have work to do too.
            try await Task.sleep(for: .milliseconds(5))
        } while !isStopping
        await client?.socket.close()
        hasEnded = true
    }

    /// Waits until so many more are acked.
    func acks(_ more: Int) async throws {
        let before = acked.count
        try await changes.wait(for: "\(more) acks of \(name), \(refusals) refusals, \(ends) ends") {
            acked.count >= before + more ? () : nil
        }
    }

    /// nil when the answer was 503, or none came.
    private func attempt(_ clientID: String) async throws -> SendResult? {
        guard let client = try await connected() else {
            try await Task.sleep(for: .milliseconds(50))
            return nil
        }
        let room = room
        do {
            return try await withDeadline("an ack", limit: .seconds(10)) {
                try await client.send(room, clientID, clientID: clientID)
            }
        } catch let error as ChatError {
            guard error.code == .unavailable else { throw TestFailure("\(clientID) was refused: \(error)") }
            refusals += 1
            try await Task.sleep(for: .milliseconds(error.retryAfterMs ?? 100))
        } catch {
            await ended(client)
        }
        return nil
    }

    private func ended(_ client: TestClient) async {
        ends += 1
        let hinted = await client.items.contains { if case .push(.reconnect) = $0 { true } else { false } }
        if !hinted { unannouncedEnds += 1 }
        await client.socket.close()
        self.client = nil
        home = cluster.others(than: home).randomElement() ?? home
    }

    private func connected() async throws -> TestClient? {
        if let client { return client }
        let (home, name, room) = (home, name, room)
        guard home.answers else {
            self.home = cluster.answering.randomElement() ?? home
            return nil
        }
        do {
            let client = try await withDeadline("a connection", limit: .seconds(10)) {
                let client = try await TestClient.connected(home, name)
                try await client.enter(room)
                return client
            }
            self.client = client
            return client
        } catch let error as ChatError where error.code != .unavailable {
            throw TestFailure("\(name) may not come in: \(error)")
        } catch {
            self.home = cluster.answering.randomElement() ?? home
            return nil
        }
    }
}
