import ChatModel
import Testing
import WaitTestKit
import Wire

/// Sees a room, and takes up where it stopped whenever its connection has ended.
actor LedgerViewer {
    private let cluster: TestCluster
    private let room: RoomID
    private let name: String
    private var home: TestNode
    private var client: TestClient?
    private var session: SessionID?
    private var before: [Message] = []
    private var start: EnterResult?
    private var isStopping = false
    private(set) var reconnects = 0
    private(set) var unannouncedEnds = 0

    init(_ name: String, _ room: RoomID, home: TestNode, _ cluster: TestCluster) {
        (self.name, self.room, self.home, self.cluster) = (name, room, home, cluster)
    }

    /// Enters, for the first time.
    func enter() async throws {
        let client = try await TestClient.connected(home, name)
        start = try await client.enter(room)
        session = await client.session
        self.client = client
    }

    /// Takes up the room again whenever the connection has ended, until it is told to stop.
    func run() async throws {
        while !isStopping {
            guard let client else {
                try await resume()
                continue
            }
            // For as long as it takes: what is done to the nodes has no limit here.
            try await client.closing(limit: .seconds(3600))
            guard !isStopping else { return }
            let hinted = await client.items.contains { if case .push(.reconnect) = $0 { true } else { false } }
            if !hinted { unannouncedEnds += 1 }
            reconnects += 1
            before = await seen
            self.client = nil
            home = cluster.others(than: home).first ?? home
        }
    }

    func stop() async {
        isStopping = true
        await client?.socket.close()
    }

    /// The kept messages that it has got, in the order in which they came.
    var seen: [Message] {
        get async { before + (await client?.messages(of: room) ?? []).filter { $0.seq != nil } }
    }

    private func resume() async throws {
        guard home.answers else {
            home = cluster.answering.first ?? home
            return try await Task.sleep(for: .milliseconds(50))
        }
        let (home, name, room, session, start) = (home, name, room, session, start)
        let since = before.last?.seq ?? start?.seq
        do {
            let (client, missed) = try await withDeadline("a connection", limit: .seconds(10)) {
                let client = try await TestClient.connected(home, name, session: session)
                let entered = try await client.enter(room, since: since, epoch: start?.epoch)
                #expect(entered.recovered == true && entered.epoch == start?.epoch)
                var missed = entered.missed ?? []
                if entered.missedMore == true {
                    missed += try await client.wholeHistory(room, after: missed.last?.seq ?? since ?? 0).filter {
                        ($0.seq ?? 0) <= entered.seq
                    }
                }
                return (client, missed)
            }
            before += missed
            self.session = await client.session
            self.client = client
        } catch let error as ChatError where error.code != .unavailable {
            throw TestFailure("\(name) may not come back: \(error)")
        } catch {
            self.home = cluster.answering.randomElement() ?? home
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    /// Waits until it has seen everything up to `seq`, and compares it with what is kept.
    func audit(_ kept: [Message]) async throws {
        let first = try #require(start).seq
        let last = UInt64(kept.count)
        try await poll("\(name) sees \(last) of \(room)") { (await self.seen.last?.seq ?? first) >= last }
        let seen = await self.seen
        #expect(seen.compactMap(\.seq) == Array(first &+ 1..<last &+ 1), "\(name) sees everything once, in order")
        for message in seen {
            let place = Int(message.seq ?? 0) - 1
            #expect(kept.indices.contains(place) && kept[place] == message, "\(name) sees what is kept")
        }
    }
}
