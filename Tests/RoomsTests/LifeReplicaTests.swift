import ChatModel
import History
import RoomCore
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// Messages of before, and rooms with lives of their own, on nodes that come, go and lead (PROTOCOL.md, "Import", "History").
@Suite(.timeLimit(.minutes(2))) struct LifeReplicaTests {
    private let (long, plain): (RoomID, RoomID)

    init() throws {
        long = try #require(RoomID("long"))
        plain = try #require(RoomID("plain"))
    }

    private func run(_ body: (HostedCluster) async throws -> Void) async throws {
        let cluster = try HostedCluster()
        do {
            try await body(cluster)
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }

    private func add(_ names: [String], to cluster: HostedCluster) async throws {
        for name in names { try await cluster.add(name) }
        cluster.announce()
        cluster.announce(.newest)
    }

    private func create(_ room: RoomID, days: Int64?, in cluster: HostedCluster) async throws {
        var set = RoomChanges()
        set.historyDays = days
        try await cluster.perform(.createRoom(creator: try user("owner"), set: set), in: room)
    }

    private func keep(_ days: Int64, in cluster: HostedCluster, but away: NodeID? = nil) async throws {
        try await cluster.perform(change(days), in: long, but: away)
    }

    private func change(_ days: Int64) -> CommandBody {
        var set = RoomChanges()
        set.historyDays = days
        return .updateRoom(set: set, NotifyOptions(notify: false))
    }

    /// Imports a message of each of these days ago.
    private func bring(_ days: [Int64], to room: RoomID, in cluster: HostedCluster) async throws {
        let now = HostedRooms.now()
        let messages = days.map {
            ImportedMessage(
                time: now.adding(milliseconds: -$0 * Timestamp.millisecondsPerDay - 1), from: nil,
                body: .text("imported \($0)"))
        }
        let result = try await cluster.perform(.importMessages(messages, after: nil), in: room)
        guard case .imported(let answer) = result else { throw ChatError(.internal, "another answer") }
        #expect(answer.imported == Int64(days.count) && answer.skipped == 0)
    }

    private func messages(_ room: RoomID, _ cluster: HostedCluster, but away: NodeID? = nil) async throws -> [Message] {
        var request = HistoryRequest()
        request.ascending = true
        return try await cluster.lead(but: away) { [request] node throws(ChatError) in
            try await node.calls.history(of: room, request).messages
        }
    }

    private func texts(_ room: RoomID, _ cluster: HostedCluster, but away: NodeID? = nil) async throws -> [String] {
        try await messages(room, cluster, but: away).compactMap(text)
    }

    private func found(_ text: String, in room: RoomID, _ cluster: HostedCluster) async throws -> [String] {
        let page = try await cluster.lead { node throws(ChatError) in
            try await node.calls.search(SearchRequest(room: room, text: text))
        }
        return page.messages.compactMap(self.text)
    }

    private func text(_ message: Message) -> String? {
        if case .text(let text) = message.body { text } else { nil }
    }

    /// The lives of the files that a node has.
    private func lives(_ name: String, _ cluster: HostedCluster) async throws -> Set<HistoryLife> {
        let numbers = try await cluster.node(name).content().history.keys
        return Set(numbers.compactMap { HistoryFile(number: $0)?.life })
    }

    @Test func `a node that joins or comes back without its disk gets imported messages in the files of their life`()
        async throws
    {
        try await run { cluster in
            try await add(["n1"], to: cluster)
            try await create(long, days: 40, in: cluster)
            try await create(plain, days: nil, in: cluster)
            try await bring([39, 20, 3, 2], to: long, in: cluster)
            try await bring([9, 6], to: plain, in: cluster)
            let third = try await messages(long, cluster)[2].messageID
            try await cluster.lead { node throws(ChatError) in
                try await node.calls.recall(
                    third, in: long, as: .system, id: nil, options: NotifyOptions(notify: false))
            }
            let first = try cluster.node("n1")
            try await poll("the log is trimmed") { try first.firstIndex() > 1 }
            try await add(["n2", "n3"], to: cluster)
            try await cluster.settled()
            try await cluster.expectEqual()
            #expect(cluster.link.historyParts > 0)
            let expected = ["imported 39", "imported 20", "imported 2"]
            for name in ["n1", "n2", "n3"] { #expect(try await lives(name, cluster) == [.standard, .year], "\(name)") }

            // Others lead now, and go on with the room.
            try await cluster.stop("n1")
            #expect(try await texts(long, cluster) == expected)
            #expect(try await texts(plain, cluster) == ["imported 9", "imported 6"])
            #expect(try await found("imported", in: long, cluster) == expected.reversed())
            #expect(try await found("imported 3", in: long, cluster) == ["imported 39"], "one is recalled")
            try await bring([1], to: long, in: cluster)
            try await keep(5, in: cluster)
            #expect(try await texts(long, cluster) == ["imported 2", "imported 1"])

            // One comes back with its disk, and one without.
            try await cluster.restart("n1")
            cluster.announce(.newest)
            try await cluster.settled()
            try await cluster.stop("n3")
            try await add(["n3"], to: cluster)
            try await cluster.settled()
            try await cluster.expectEqual()
            #expect(try await lives("n3", cluster) == [.standard, .year])
            try await cluster.stop("n2")
            #expect(try await texts(long, cluster) == ["imported 2", "imported 1"])
            #expect(try await found("imported", in: long, cluster) == ["imported 1", "imported 2"])
            try await keep(40, in: cluster)
            #expect(try await texts(long, cluster) == ["imported 2", "imported 1"], "raising revives nothing")
        }
    }

    @Test func `a life that is changed while the leader changes is that of the last change that was acked`()
        async throws
    {
        try await run { cluster in
            try await add(["n1", "n2", "n3"], to: cluster)
            try await cluster.settled()
            try await create(long, days: 40, in: cluster)
            try await bring([39, 20, 1], to: long, in: cluster)
            let former = try await cluster.lead { node throws(ChatError) in node }
            cluster.link.setCut(former.id, true)
            // It may still believe that it leads, and nobody hears it.
            async let lost = code { () async throws(ChatError) in
                _ = try await former.calls.perform(change(1), in: long, as: .system, id: nil)
            }
            try await keep(30, in: cluster, but: former.id)
            #expect(try await texts(long, cluster, but: former.id) == ["imported 20", "imported 1"])
            cluster.link.setCut(former.id, false)
            #expect(await lost == .unavailable)
            try await cluster.settled()
            try await cluster.expectEqual()
            #expect(try await texts(long, cluster) == ["imported 20", "imported 1"])

            // The next leader ends as soon as it has acked another change.
            let next = try await cluster.lead { node throws(ChatError) in
                _ = try await node.calls.perform(change(2), in: long, as: .system, id: nil)
                return node.id
            }
            try await cluster.stop(next.text)
            #expect(try await texts(long, cluster) == ["imported 1"])
            try await keep(40, in: cluster)
            #expect(try await texts(long, cluster) == ["imported 1"], "raising revives nothing")
            try await cluster.restart(next.text)
            cluster.announce(.newest)
            try await cluster.settled()
            try await cluster.expectEqual()
            try await bring([0], to: long, in: cluster)
            #expect(try await texts(long, cluster) == ["imported 1", "imported 0"])
        }
    }

    private func code(_ body: () async throws(ChatError) -> Void) async -> ErrorCode? {
        do throws(ChatError) {
            try await body()
            return nil
        } catch {
            return error.code
        }
    }
}
