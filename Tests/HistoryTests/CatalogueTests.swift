import ChatModel
import History
import StorageTestKit
import Testing

@Suite struct CatalogueTests {
    let shard: TestShard

    init() throws { shard = try TestShard() }

    @Test func `reads see catalogue rows before and after a checkpoint alike`() async throws {
        var storage = try shard.open()
        let rows = [
            try roomRow("a", index: 1), try memberRow("a", "ann", index: 2, deadline: noon),
            try memberRow("a", "bob", index: 3), try roomRow("b", index: 4, deadline: noon.adding(seconds: -5)),
        ]
        storage.write(rows, applied: 4)
        storage.write([try memberRow("a", "bob", index: 5, value: nil)], applied: 5)
        for stage in 0..<3 {
            #expect(storage.appliedIndex == 5 || stage == 0)
            #expect(try await storage.loadRoom(try room("a")).catalogue == Array(rows[0...1]))
            #expect(try await storage.rooms().map(\.room.text) == ["a", "b"])
            #expect(try await storage.rooms(after: try room("a")).map(\.room.text) == ["b"])
            #expect(try await storage.rooms(limit: 1).map(\.room.text) == ["a"])
            #expect(try await storage.dueDeadlines(at: noon).map(\.room.text) == ["b", "a"])
            #expect(try await storage.dueDeadlines(at: noon.adding(milliseconds: -1)).map(\.room.text) == ["b"])
            #expect(try await storage.dueDeadlines(at: noon, limit: 1).map(\.room.text) == ["b"])
            if stage == 0 {
                #expect(storage.writtenIndex == 0)
                #expect(try await storage.checkpoint() == 5)
            } else {
                storage.close()
                storage = try shard.open()
            }
            #expect(storage.writtenIndex == 5)
            #expect(storage.syncedIndex == 5)
        }
        storage.close()
    }

    @Test func `a room with many deadlines does not keep others from being found`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        var rows = [try roomRow("b", index: 1, deadline: noon)]
        for number in 0..<50 {
            rows.append(try memberRow("a", "u\(number)", index: 1, deadline: noon.adding(seconds: -1)))
        }
        storage.write(rows, applied: 1)
        for _ in 0..<2 {
            #expect(try await storage.dueDeadlines(at: noon, limit: 2).map(\.room.text) == ["a", "b"])
            _ = try await storage.checkpoint()
        }
    }

    @Test func `changes hide what the file holds until they are written`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        storage.write(
            [
                try roomRow("a", index: 1, deadline: noon), try roomRow("c", index: 1), try roomRow("d", index: 1),
                try memberRow("d", "ann", index: 1, deadline: noon),
            ], applied: 1)
        _ = try await storage.checkpoint()
        storage.write(
            [
                try roomRow("a", index: 2, deadline: noon.adding(seconds: 9), 42), try roomRow("b", index: 2),
                try memberRow("d", "ann", index: 2, value: nil),
            ],
            retired: [RetiredRoom(room: try room("c"), incarnation: Incarnation(1))], applied: 2)
        for _ in 0..<2 {
            #expect(try await storage.rooms().map(\.room.text) == ["a", "b", "d"])
            #expect(try await storage.rooms().first?.value == [42])
            #expect(try await storage.rooms(limit: 2).map(\.room.text) == ["a", "b"])
            #expect(try await storage.dueDeadlines(at: noon).isEmpty)
            #expect(try await storage.dueDeadlines(at: noon.adding(seconds: 9)).map(\.room.text) == ["a"])
            #expect(try await storage.loadRoom(try room("c")).catalogue.isEmpty)
            #expect(try await storage.loadRoom(try room("d")).catalogue == [try roomRow("d", index: 1)])
            _ = try await storage.checkpoint()
        }
    }

    @Test func `rooms with a row of another kind are listed by it, also when they are gone`() async throws {
        let storage = try shard.open()
        func owed(_ name: String, index: UInt64, value: [UInt8]?) throws -> CatalogueRow {
            CatalogueRow(
                room: try room(name), incarnation: Incarnation(0), kind: CatalogueKind.webhook.rawValue, key: "",
                value: value, index: index)
        }
        storage.write(
            [
                try roomRow("a", index: 1), try owed("a", index: 1, value: [1]), try roomRow("b", index: 1),
                try owed("c", index: 1, value: [2]),
            ], applied: 1)
        _ = try await storage.checkpoint()
        storage.write(
            [try owed("a", index: 2, value: [3])],
            retired: [RetiredRoom(room: try room("a"), incarnation: Incarnation(1))], applied: 2)
        for _ in 0..<2 {
            #expect(try await storage.rooms(.webhook).map(\.room.text) == ["a", "c"])
            #expect(try await storage.rooms(.webhook).first?.value == [3])
            #expect(try await storage.rooms(.webhook, after: try room("a")).map(\.room.text) == ["c"])
            #expect(try await storage.loadRoom(try room("a")).catalogue.map(\.value) == [[3]])
            _ = try await storage.checkpoint()
        }
        storage.write([try owed("a", index: 3, value: nil)], applied: 3)
        #expect(try await storage.rooms(.webhook).map(\.room.text) == ["c"])
        storage.close()
    }

    @Test func `a room that is deleted and made again keeps only its new life`() async throws {
        var storage = try shard.open()
        storage.write([try roomRow("a", index: 1), try memberRow("a", "ann", index: 2)], applied: 2)
        storage.write([row(1, of: Incarnation(1))], applied: 3)
        _ = try await storage.checkpoint()
        storage.write(
            [try roomRow("a", index: 5, incarnation: 5), try memberRow("a", "bob", index: 6, incarnation: 5)],
            retired: [RetiredRoom(room: try room("a"), incarnation: Incarnation(1))], applied: 6)
        for _ in 0..<2 {
            let loaded = try await storage.loadRoom(try room("a"))
            #expect(
                loaded.catalogue == [
                    try roomRow("a", index: 5, incarnation: 5), try memberRow("a", "bob", index: 6, incarnation: 5),
                ])
            #expect(loaded.tail.isEmpty)
            storage.close()
            storage = try shard.open()
        }
        storage.close()
    }

    @Test func `an older change never replaces a newer one`() async throws {
        let storage = try shard.open()
        defer { storage.close() }
        storage.write([try roomRow("a", index: 9, 9)], applied: 9)
        storage.write([try roomRow("a", index: 8, 8)], applied: 9)
        #expect(try await storage.loadRoom(try room("a")).catalogue.first?.value == [9])
        _ = try await storage.checkpoint()
        storage.write([try roomRow("a", index: 7, 7)], applied: 10)
        _ = try await storage.checkpoint()
        #expect(try await storage.loadRoom(try room("a")).catalogue.first?.value == [9])
    }

    @Test func `a checkpoint begins by itself at the bound of bytes`() async throws {
        let storage = try shard.open { $0.catalogueBytesMax = 10_000 }
        defer { storage.close() }
        for index in 1...100 as ClosedRange<UInt64> {
            storage.write([try memberRow("a", "user\(index)", index: index)], applied: index)
        }
        #expect(try await storage.loadRoom(try room("a")).catalogue.count == 100)
        #expect(storage.writtenIndex > 0)
    }

    @Test func `a checkpoint begins by itself when a start would apply many entries again`() async throws {
        let storage = try shard.open { $0.checkpointEntries = 40 }
        defer { storage.close() }
        for index in 1...39 as ClosedRange<UInt64> {
            storage.write([try memberRow("a", "user\(index)", index: index)], applied: index)
        }
        #expect(try await storage.loadRoom(try room("a")).catalogue.count == 39)
        #expect(storage.writtenIndex == 0)
        storage.write([try memberRow("a", "user40", index: 40)], applied: 40)
        #expect(try await storage.loadRoom(try room("a")).catalogue.count == 40)
        #expect(storage.writtenIndex == 40 && storage.syncedIndex == 40)
        // From there on it is counted anew.
        storage.write([try memberRow("a", "user41", index: 79)], applied: 79)
        #expect(try await storage.loadRoom(try room("a")).catalogue.count == 41)
        #expect(storage.writtenIndex == 40)
    }
}
