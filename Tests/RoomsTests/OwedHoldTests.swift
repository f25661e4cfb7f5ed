import ChatModel
import History
import Moderation
import RoomCore
import StorageTestKit
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// Held messages that the app's webhook is owed, as they are on disk.
@Suite(.timeLimit(.minutes(3))) struct OwedHoldTests {
    // MARK: - Cost

    private struct Cost: Equatable {
        var rows = 0
        var bytes = 0
    }

    /// The rows that one more held message writes to the catalogue, when so many are owed already.
    private static func cost(owed count: Int, byRow: Bool) throws -> Cost {
        let room = HostedRooms.room
        var state = RoomState(absent: room)
        var index: UInt64 = 1_000_000
        func run(_ body: CommandBody, _ facts: CommandFacts = CommandFacts()) -> [Effect] {
            index += 1
            let command = Command(id: nil, room: room, actor: .system, body: body, facts: facts)
            return state.apply(command, key: nil, at: Stamp(index: index, time: Timestamp(1_700_000_000_000)))
        }
        _ = run(.createRoom(creator: try user("owner"), set: RoomChanges()))
        var facts = CommandFacts()
        (facts.webhook, facts.hold, facts.owesByRow) = (true, HoldPolicy(), byRow)
        for _ in 0..<count {
            guard case .result(.held(let id))? = run(.post(MessageDraft(body: .text("x"))), facts).last else {
                throw ChatError(.internal, "not held")
            }
            _ = run(.decideHeld(heldID: id, HeldDecision(isAllowed: false)))
        }
        var cost = Cost()
        for case .catalogue(let row) in run(.post(MessageDraft(body: .text("x"))), facts) {
            cost.rows += 1
            cost.bytes += row.key.utf8.count + (row.value.map { CatalogueCodec.encode($0).count } ?? 0)
        }
        return cost
    }

    @Test func `one more writes two rows of a hundred bytes or so, however many are owed`() throws {
        let few = try Self.cost(owed: 1, byRow: true)
        let many = try Self.cost(owed: 999, byRow: true)
        #expect(few.rows == 2 && many == few)
        #expect(many.bytes < 300, "\(many)")
        // As it was written before.
        let former = try Self.cost(owed: 999, byRow: false)
        #expect(former.rows == 2 && former.bytes > 50 * many.bytes, "\(former), \(many)")
    }

    // MARK: - On disk

    @Test func `rows and entries of before are read as they were written, and write themselves in the same way`() throws
    {
        var record = WebhookRecord()
        record.events = [RoomLifeEvent(kind: .held, index: 300, after: 2, time: Timestamp(1_700_000_000_000))]
        let former: [UInt8] = [26, 14, 8, 6, 16, 172, 2, 24, 2, 32, 128, 208, 149, 255, 188, 49]
        #expect(try CatalogueCodec.decode(kind: .webhook, former) == .webhook(record))
        #expect(CatalogueCodec.encode(.webhook(record)) == former)
        var facts = CommandFacts()
        (facts.webhook, facts.hold) = (true, HoldPolicy())
        var command = Command(
            id: nil, room: HostedRooms.room, actor: .system, body: .post(MessageDraft(body: .text("x"))), facts: facts)
        let entry = LogCodec.encode(command, time: Timestamp(1))
        #expect(try LogCodec.decode(entry).0.facts.owesByRow == false)
        command.facts.owesByRow = true
        let next = LogCodec.encode(command, time: Timestamp(1))
        #expect(next.count == entry.count + 3, "the fact alone is new")
        #expect(try LogCodec.decode(next).0.facts.owesByRow)
    }

    // MARK: - Nodes

    /// Nobody listens there.
    private static func away() -> WebhookSettings {
        var settings = WebhookSettings()
        (settings.url, settings.secret) = ("http://127.0.0.1:9/", "s")
        return settings
    }

    /// What a node's disk has of it.
    private static func owed(_ storage: ShardStorage) async throws -> [RoomLifeEvent] {
        try await rows(storage, .owedHeld).compactMap { row in
            guard let bytes = row.value,
                case .owedHeld(let event) = try CatalogueCodec.decode(kind: .owedHeld, bytes)
            else { return nil }
            return event
        }.sorted { $0.index < $1.index }
    }

    private static func rows(_ storage: ShardStorage, _ kind: CatalogueKind) async throws -> [CatalogueRow] {
        try await withCheckedContinuation { continuation in
            storage.rooms(kind, after: nil, limit: 100) { continuation.resume(returning: $0) }
        }.get()
    }

    private static func callbacks(of node: HostedNode) async throws {
        await node.rooms.setModeration(try WordFilter([Word("iffy", .hold)]), hook: nil)
        await node.rooms.setWebhook(away())
    }

    @Test func `replicas that join are given them, and the next leader delivers them`() async throws {
        let cluster = try HostedCluster()
        do {
            try await join(cluster)
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }

    private func join(_ cluster: HostedCluster) async throws {
        let room = HostedRooms.room
        try await cluster.add("n1")
        cluster.announce(.newest)
        let first = try cluster.node("n1")
        try await Self.callbacks(of: first)
        try await cluster.perform(.createRoom(creator: try user("owner"), set: RoomChanges()), in: room)
        var ids: [String] = []
        for number in 1...4 {
            let body = CommandBody.post(MessageDraft(body: .text("iffy \(number)")))
            let result = try await cluster.lead { node throws(ChatError) in
                try await node.calls.perform(body, in: room, as: .system, moderate: true, id: nil)
            }
            guard case .held(let id) = result else { throw ChatError(.internal, "not held") }
            ids.append(id)
        }
        try await cluster.perform(.decideHeld(heldID: ids[0], HeldDecision(isAllowed: true)), in: room)
        try await cluster.perform(.decideHeld(heldID: ids[1], HeldDecision(isAllowed: false)), in: room)
        try await cluster.perform(.withdrawHeld(heldID: ids[2]), in: room)
        for number in 1...30 {
            try await cluster.perform(.post(MessageDraft(body: .text("\(number)"))), in: room)
        }
        try await poll("the log is trimmed") { try first.firstIndex() > 10 }
        for name in ["n2", "n3"] {
            try await cluster.add(name)
            try await Self.callbacks(of: try cluster.node(name))
        }
        cluster.announce(.newest)
        cluster.announce()
        try await cluster.settled()
        try await cluster.expectEqual()
        #expect(cluster.link.begunSnapshots >= 2)
        let owed = try await Self.owed(first.storage)
        #expect(owed.count == 4 && owed.allSatisfy { $0.kind == .held && $0.after == 0 })
        let held = ids.map(MessageID.parse)
        for (event, id) in zip(owed, held) {
            guard case .held(_, event.index)? = id else { throw ChatError(.internal, "\(event) is not of \(ids)") }
        }
        for node in cluster.nodes { #expect(try await Self.owed(node.storage) == owed) }

        // There is no webhook any more: all that is owed counts as delivered.
        try await cluster.stop("n1")
        for node in cluster.nodes { await node.rooms.setWebhook(nil) }
        for node in cluster.nodes {
            try await poll("\(node.id) owes nothing") {
                let rows = try await Self.rows(node.storage, .owedHeld) + Self.rows(node.storage, .webhook)
                return rows.isEmpty
            }
        }
    }
}
