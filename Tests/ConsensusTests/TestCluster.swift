import ChatModel

@testable import Consensus

/// Servers whose messages, disks and clocks a test moves by hand. Named "a", "b", ...
final class TestCluster {
    struct Server {
        var core: RaftGroup
        var disk = TestDisk()
        /// Saves that the store has and has not written.
        var unsynced: [RaftOutput.Save] = []
        /// The disk does not write until told.
        var isDiskHeld = false
        var isDown = false
        /// Everything that came out as committed, over all lives.
        var committed: [Entry] = []
        var reads: [RaftOutput.ReadState] = []
        var failedReads: [UInt64] = []
        var offer: RaftOutput.SnapshotOffer?
        var fetches: [RaftOutput.Fetch] = []
    }

    static let group = GroupID(1)
    let configuration: RaftConfiguration
    private(set) var servers: [String: Server] = [:]
    /// Messages under way, oldest first.
    var network: [RaftMessage] = []
    /// Messages are lost if this says so.
    var loses: (RaftMessage) -> Bool = { _ in false }
    /// Called with every output, before anything is done with it.
    var onOutput: (String, RaftOutput) -> Void = { _, _ in }
    private var seed: UInt64

    init(_ names: [String], configuration: RaftConfiguration = .testing, seed: UInt64 = 0) throws {
        self.configuration = configuration
        self.seed = seed
        for name in names {
            try add(name, start: .bootstrap(GroupMembership(voters: names.map { TestCluster.id($0) })))
        }
    }

    static func id(_ name: String, store: UInt64 = 1) -> ServerID { ServerID(node: name, store: store) }

    subscript(_ name: String) -> RaftGroup { servers[name, default: missing(name)].core }

    private func missing(_ name: String) -> Server { preconditionFailure("no server \(name)") }

    func server(_ name: String) -> Server { servers[name, default: missing(name)] }

    func add(_ name: String, start: RaftGroup.Start, disk: TestDisk = TestDisk()) throws {
        seed += 1
        let core = try RaftGroup(
            id: Self.id(name), group: Self.group, configuration: configuration, start: start, randomSeed: seed)
        var server = servers[name] ?? Server(core: core)
        server.core = core
        server.disk = disk
        server.unsynced = []
        server.isDown = false
        servers[name] = server
        run(name)
    }

    /// Makes the core do something and carries out what comes of it.
    @discardableResult
    func act<Value>(_ name: String, _ body: (inout RaftGroup) throws -> Value) rethrows -> Value {
        defer { run(name) }
        return try body(&servers[name, default: missing(name)].core)
    }

    private func run(_ name: String) {
        while true {
            let output = servers[name, default: missing(name)].core.takeOutput()
            if output.isEmpty { break }
            onOutput(name, output)
            network.append(contentsOf: output.messages)
            var server = server(name)
            if let save = output.save { server.unsynced.append(save) }
            server.committed.append(contentsOf: output.committed)
            server.reads.append(contentsOf: output.readStates)
            server.failedReads.append(contentsOf: output.failedReads)
            server.fetches.append(contentsOf: output.fetches)
            if let offer = output.snapshotOffer { server.offer = offer }
            if let last = output.committed.last { server.core.applied(upTo: last.index) }
            servers[name] = server
            if !server.isDiskHeld { sync(name) }
            answerFetches(name)
        }
    }

    private func answerFetches(_ name: String) {
        let fetches = server(name).fetches
        servers[name]?.fetches = []
        for fetch in fetches {
            let entries = server(name).disk.read(fetch.range, bytesMax: fetch.bytesMax)
            servers[name]?.core.fetched(entries, for: fetch)
        }
    }

    /// The disk writes what it has been given.
    private func sync(_ name: String) {
        let saves = server(name).unsynced
        servers[name]?.unsynced = []
        for save in saves {
            servers[name]?.disk.write(save)
            servers[name]?.core.persisted(save: save.number)
        }
    }

    func holdDisk(_ name: String) { servers[name]?.isDiskHeld = true }

    func releaseDisk(_ name: String) {
        servers[name]?.isDiskHeld = false
        sync(name)
        run(name)
    }

    func tick(_ name: String, _ count: Int = 1) { for _ in 0..<count { act(name) { $0.tick() } } }

    func step(_ message: RaftMessage) {
        guard let name = servers.first(where: { $0.value.core.id == message.to })?.key else { return }
        if server(name).isDown { return }
        act(name) { $0.step(message) }
    }

    /// Delivers until nothing is under way.
    func settle() {
        var delivered = 0
        while !network.isEmpty {
            let message = network.removeFirst()
            if !loses(message) { step(message) }
            delivered += 1
            precondition(delivered < 100_000, "the servers never come to rest")
        }
    }

    /// Delivers what `isWanted` says, once; the rest stays under way.
    func deliver(where isWanted: (RaftMessage) -> Bool) {
        let wanted = network.filter(isWanted)
        network.removeAll(where: isWanted)
        for message in wanted { step(message) }
    }

    /// `name` campaigns when nobody has heard from a leader for long, and everybody hears of it.
    func elect(_ name: String) {
        forgetLeader()
        campaign(name)
        settle()
    }

    /// The server's election timeout has passed; nothing is delivered.
    func campaign(_ name: String) {
        act(name) {
            $0.resetElectionTimer()
            $0.startElection()
        }
    }

    /// An election timeout has passed for everybody, but nobody has campaigned yet.
    func forgetLeader() {
        for name in servers.keys { servers[name]?.core.electionElapsed = configuration.electionTimeoutTicks }
    }

    /// The host takes a snapshot of what is applied and trims its log, but for `keeping` entries.
    func takeSnapshot(_ name: String, keeping: UInt64 = 0) {
        let index = self[name].appliedIndex
        guard let mark = self[name].snapshotMark(at: index) else { return }
        act(name) { $0.snapshotTaken(mark) }
        let limit = index > keeping ? index - keeping : 0
        servers[name]?.disk.trim(upTo: limit)
        act(name) { $0.compacted(upTo: limit) }
    }

    /// The host has got and written the snapshot that it was offered.
    func install(_ name: String) {
        guard let offer = server(name).offer else { return }
        servers[name]?.offer = nil
        act(name) { $0.snapshotInstalled(offer.mark) }
    }

    /// Messages from one server to another that are under way.
    func underWay(from: String, to: String) -> [RaftMessage.Body] {
        network.filter { $0.from == Self.id(from) && $0.to == Self.id(to) }.map(\.body)
    }

    /// As if `from` had sent it in its present term.
    func message(from: String, to: String, term: UInt64? = nil, _ body: RaftMessage.Body) -> RaftMessage {
        RaftMessage(
            group: Self.group, from: Self.id(from), to: Self.id(to), term: term ?? self[from].term, body: body)
    }

    /// Power is lost: what is not synced is gone.
    func crash(_ name: String) {
        servers[name]?.isDown = true
        servers[name]?.unsynced = []
    }

    func restart(_ name: String, appliedIndex: UInt64 = 0) throws {
        let disk = server(name).disk
        let applied = max(appliedIndex, disk.snapshot?.index ?? 0)
        servers[name]?.isDiskHeld = false
        try add(name, start: .restored(disk.restored(appliedIndex: applied)), disk: disk)
    }

    func isolate(_ names: String...) {
        let ids = Set(names.map { Self.id($0) })
        loses = { ids.contains($0.from) != ids.contains($0.to) }
    }

    func heal() { loses = { _ in false } }

    @discardableResult
    func propose(_ name: String, _ texts: String...) throws -> ClosedRange<UInt64> {
        try act(name) { core throws in try core.propose(texts.map { Array($0.utf8) }) }
    }

    /// The commands committed at a server, as text.
    func commands(_ name: String) -> [String] {
        server(name).committed.filter { $0.kind == .command }.map { String(decoding: $0.payload, as: UTF8.self) }
    }
}

extension RaftConfiguration {
    static var testing: RaftConfiguration { RaftConfiguration() }
}
