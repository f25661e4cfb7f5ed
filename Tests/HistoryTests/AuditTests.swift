import ChatModel
import History
import SQLite
import StorageTestKit
import Testing
import WaitTestKit

/// The record of changing calls: kept for its days and no longer, and found by who, where and what (PROTOCOL.md,
/// "Audit").
@Suite struct AuditTests {
    private static let day: Int64 = 86_400
    private let directory: TemporaryDirectory
    private let clock = TestClock(noon)

    init() throws { directory = try TemporaryDirectory() }

    private func open(_ own: NodeID = n1, former: AuditFile.Former? = nil) throws -> AuditFile {
        try AuditFile.open(path: directory.path + "/audit-2", own: own, former: former, retentionDays: 90) {
            [clock] in clock.now
        }
    }

    private func row(
        _ payload: UInt8, _ kind: AuditRow.Kind = .ordinary, actor: String? = "root", room: String? = nil,
        action: String? = nil
    ) -> AuditFile.Appended {
        AuditFile.Appended(
            time: clock.now, subject: AuditRow.Subject(kind, actor: actor, room: room, action: action),
            payload: [payload])
    }

    private func payloads(
        _ file: AuditFile, actor: String? = nil, room: String? = nil, action: String? = nil
    ) async throws -> [UInt8] {
        let query = AuditQuery(limit: 100, actor: actor, room: room, action: action)
        return try await file.page(query).get().flatMap(\.payload)
    }

    @Test func `an item is there for exactly 90 days`() async throws {
        let file = try open()
        defer { file.close() }
        #expect(file.append(row(1)))
        clock.now = noon.adding(seconds: Self.day)
        #expect(file.append(row(2)))
        clock.now = noon.adding(seconds: 90 * Self.day)
        #expect(try await payloads(file) == [2, 1])
        clock.now = Timestamp(clock.now.milliseconds + 1)
        #expect(try await payloads(file) == [2])
    }

    @Test func `an item whose days are over leaves the file too, and no ID comes twice`() async throws {
        let file = try open()
        #expect(file.append(row(1)))
        let first = try #require(try await file.page(AuditQuery(limit: 1)).get().first)
        file.close()
        clock.now = Timestamp(noon.adding(seconds: 90 * Self.day).milliseconds + 1)
        let pruned = try open()
        // Were it still in the file, a clock that goes back would show it again.
        clock.now = noon
        #expect(try await payloads(pruned) == [])
        #expect(pruned.append(row(2)))
        let second = try #require(try await pruned.page(AuditQuery(limit: 1)).get().first)
        #expect(second.place > first.place && second.payload == [2])
        pruned.close()
    }

    @Test func `a file that is written on and on is pruned without a start`() async throws {
        let file = try open()
        defer { file.close() }
        #expect(file.append(row(1)))
        #expect(try await payloads(file) == [1])
        clock.now = noon.adding(seconds: 91 * Self.day)
        for _ in 0..<1_000 { #expect(file.append(row(2))) }
        _ = try await payloads(file)
        clock.now = noon
        #expect(try await file.page(AuditQuery(before: AuditPlace(id: 2, node: n1), limit: 100)).get().isEmpty)
    }

    @Test func `items are found by who, where and what, and by all of it`() async throws {
        let file = try open()
        defer { file.close() }
        #expect(file.append(row(1, actor: "ann", room: "a", action: "closeRoom")))
        #expect(file.append(row(2, actor: "bob", room: "a", action: "closeRoom")))
        #expect(file.append(row(3, actor: "ann", room: "b", action: "muteRoom")))
        #expect(file.append(row(4, .stranger, actor: nil)))
        #expect(try await payloads(file) == [4, 3, 2, 1])
        #expect(try await payloads(file, actor: "ann") == [3, 1])
        #expect(try await payloads(file, room: "a") == [2, 1])
        #expect(try await payloads(file, action: "muteRoom") == [3])
        #expect(try await payloads(file, actor: "ann", room: "a", action: "closeRoom") == [1])
        #expect(try await payloads(file, actor: "carl") == [])
    }

    @Test func `pages go on where the last one ended, also between nodes with items of one moment`() async throws {
        let file = try open()
        defer { file.close() }
        for number in 1...5 { #expect(file.append(row(UInt8(number)))) }
        let own = try await file.page(AuditQuery(limit: 10)).get()
        let copies = own.map { copied in
            AuditRow(place: AuditPlace(id: copied.place.id, node: n2), subject: copied.subject, payload: [9])
        }
        try await file.keep(copies).get()
        var query = AuditQuery(limit: 3)
        var all: [AuditRow] = []
        while true {
            let page = try await file.page(query).get()
            guard let last = page.last else { break }
            all += page
            query.before = last.place
        }
        #expect(all.map(\.place) == (own + copies).map(\.place).sorted(by: >))
    }

    @Test func `what is copied is kept once, and never again to the same store`() async throws {
        let file = try open()
        defer { file.close() }
        for number in 1...5 { #expect(file.append(row(UInt8(number)))) }
        let first = try await file.uncopied(of: n1, to: 7, limit: 3).get()
        #expect(first.flatMap(\.payload) == [1, 2, 3])
        try await file.note(copied: first[2].place.id, of: n1, to: 7).get()
        #expect(try await file.uncopied(of: n1, to: 7, limit: 3).get().flatMap(\.payload) == [4, 5])
        let last = try await file.uncopied(of: n1, to: 7, limit: 3).get()
        #expect(try await file.uncopied(of: n1, to: 7, after: last[0].place.id, limit: 3).get().count == 1)
        // A store that begins again has nothing.
        #expect(try await file.uncopied(of: n1, to: 8, limit: 100).get().count == 5)
        try await file.keep(first).get()
        #expect(try await payloads(file) == [5, 4, 3, 2, 1])
        #expect(try await file.nodes().get() == [n1])
    }

    @Test func `a node that begins again without its data gets its record back, whatever it sends meanwhile`()
        async throws
    {
        let file = try open(n2)
        defer { file.close() }
        func calls(_ ids: ClosedRange<Int64>) -> [AuditRow] {
            ids.map { id in
                AuditRow(
                    place: AuditPlace(id: AuditPlace.firstID(at: noon) + id, node: n1),
                    subject: AuditRow.Subject(.ordinary, actor: nil, room: nil, action: nil), payload: [UInt8(id)])
            }
        }
        func owed(_ store: UInt64) async throws -> [UInt8] {
            try await file.uncopied(of: n1, to: store, limit: 100).get().flatMap(\.payload)
        }
        try await file.keep(calls(1...2), from: 7).get()
        try await file.keep(calls(3...4), from: 7).get()
        #expect(try await owed(7) == [])
        #expect(try await owed(8) == [1, 2, 3, 4])
        try await file.keep(calls(5...6), from: 8).get()
        #expect(try await owed(8) == [1, 2, 3, 4, 5, 6])
        try await file.note(copied: calls(2...2)[0].place.id, of: n1, to: 8).get()
        try await file.keep(calls(7...7), from: 8).get()
        #expect(try await owed(8) == [3, 4, 5, 6, 7])
        try await file.note(copied: calls(7...7)[0].place.id, of: n1, to: 8).get()
        try await file.keep(calls(8...9), from: 8).get()
        #expect(try await owed(8) == [])
    }

    @Test func `strangers displace only strangers`() async throws {
        let file = try open()
        defer { file.close() }
        #expect(file.append(row(1)))
        let many = AuditRow.Kind.stranger.rowsMax + 2_000
        var placed = 0
        while placed < many {
            let rows = (0..<1_000).map { number in
                AuditRow(
                    place: AuditPlace(id: AuditPlace.firstID(at: clock.now) + Int64(placed + number + 1), node: n1),
                    subject: AuditRow.Subject(.stranger, actor: nil, room: nil, action: nil), payload: [2])
            }
            try await file.keep(rows).get()
            placed += 1_000
        }
        #expect(try await payloads(file, actor: "root") == [1])
        let oldest = try await file.uncopied(of: n1, to: 7, limit: 2).get()
        #expect(oldest.flatMap(\.payload) == [1, 2])
        let cut = oldest[1].place.id - AuditPlace.firstID(at: clock.now)
        #expect(cut >= 2_000 - 1_000 && cut <= 2_001, "\(cut)")
    }

    @Test func `a record of an earlier version is taken once, and goes on to be taken when its program has come back`()
        async throws
    {
        let path = directory.path + "/audit"
        var options = DatabaseOptions()
        options.create = true
        func record(_ numbers: ClosedRange<Int>) throws {
            let former = try Database(path: path, options: options)
            defer { former.close() }
            try former.execute(
                """
                CREATE TABLE IF NOT EXISTS audit
                    (id INTEGER PRIMARY KEY AUTOINCREMENT, time INTEGER NOT NULL, payload BLOB NOT NULL);
                PRAGMA application_id = 1129472373;
                PRAGMA user_version = 1;
                """)
            for number in numbers {
                try former.execute(
                    "INSERT INTO audit (time, payload) VALUES (\(noon.milliseconds), x'\(number < 10 ? "0" : "")\(number)')"
                )
            }
        }
        let former = AuditFile.Former(path: path) { payload in
            AuditRow.Subject(.ordinary, actor: "root", room: "\(payload[0])", action: nil)
        }
        func taken(_ file: AuditFile, _ count: Int) async throws -> [UInt8] {
            try await poll("\(count) rows") { try await payloads(file).count >= count }
            return try await payloads(file)
        }
        try record(1...3)
        let file = try open(former: former)
        #expect(try await taken(file, 3) == [3, 2, 1])
        #expect(try await payloads(file, room: "2") == [2])
        #expect(file.append(row(9)))
        file.close()
        try record(4...5)
        let later = try open()
        let copied = try #require(try await later.page(AuditQuery(limit: 1)).get().first)
        try await later.note(copied: copied.place.id, of: n1, to: 7).get()
        later.close()
        let again = try open(former: former)
        defer { again.close() }
        #expect(try await taken(again, 6).sorted() == [1, 2, 3, 4, 5, 9])
        // They are older than what was copied before, and are copied too.
        let uncopied = try await again.uncopied(of: n1, to: 7, limit: 10).get().flatMap(\.payload)
        #expect(Set(uncopied).isSuperset(of: [4, 5]))
    }
}
