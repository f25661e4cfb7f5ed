import Foundation
import Synchronization
import Testing

@testable import ControlClient
@testable import chatroomctl

/// What `import` makes of its lines.
@Suite struct ImporterTests {
    /// A cluster that refuses every import with a message whose text is "bad", and keeps the others.
    private final class Cluster: HTTPTransport {
        struct State: Sendable {
            var calls: [(method: String, target: String, body: String)] = []
            var keys: [String] = []
            var kept: [String] = []
            /// Answers before anything else is done.
            var first: [Result<HTTPAnswer, HTTPFailure>] = []
            var createdAt = 5
        }
        let state = Mutex(State())

        var calls: [String] { state.withLock { $0.calls.map { "\($0.method) \($0.target)" } } }

        func send(_ call: HTTPCall, to server: String) async throws(HTTPFailure) -> HTTPAnswer {
            let body = call.body.map { String(decoding: $0, as: UTF8.self) } ?? ""
            let first: Result<HTTPAnswer, HTTPFailure>? = state.withLock { state in
                state.calls.append((call.method, call.target, body))
                return state.first.isEmpty ? nil : state.first.removeFirst()
            }
            if let first { return try first.get() }
            guard call.target.hasSuffix("/import") else {
                return HTTPAnswer(200, #"{"createdAt":\#(state.withLock { $0.createdAt })}"#)
            }
            let texts =
                (try? JSONTree(parsing: Data(body.utf8)))?["messages"]?.items.map { $0["text"]?.text ?? "" } ?? []
            guard !texts.contains("bad") else {
                return HTTPAnswer(400, #"{"error":{"code":414,"name":"BAD_PARAMETER","message":"no"}}"#)
            }
            return state.withLock { state in
                state.kept += texts
                state.keys.append(call.headers["Idempotency-Key"] ?? "")
                return HTTPAnswer(
                    200, #"{"imported":\#(texts.count),"skipped":0,"seq":\#(state.kept.count)}"#)
            }
        }
    }

    /// Unix milliseconds.
    private static let now: Int64 = 1_795_241_874_000

    private func importer(_ cluster: Cluster, room: String? = nil, skipsRecalled: Bool = false) -> Importer {
        let client = AdminClient(target: Target(servers: ["a:1"], adminKey: "k", nodes: []), transport: cluster)
        return Importer(
            client, room: room, skipsRecalled: skipsRecalled, pause: {}, now: { Self.now },
            report: { _ in })
    }

    private func message(_ text: String) -> String {
        #"{"message":{"room":"old","seq":1,"messageId":"m","time":1,"type":"TEXT","text":"\#(text)"}}"#
    }

    /// Takes the lines, and returns the complaint if there is one.
    private func take(_ lines: [String], _ importer: inout Importer) async -> CommandFailure? {
        do throws(CommandFailure) {
            for (number, line) in lines.enumerated() { try await importer.take(Array(line.utf8), number: number + 1) }
            try await importer.finish()
            return nil
        } catch {
            return error
        }
    }

    @Test func `rooms, members and blacklists go by their own calls, quietly, and the room is closed behind all`()
        async throws
    {
        let cluster = Cluster()
        var importer = importer(cluster)
        let failure = await take(
            [
                #"{"room":{"id":"r","creator":"ann","name":"N","muted":true,"closed":true,"online":3,"createdAt":7}}"#,
                #"{"member":{"user":"ann","role":"CREATOR"}}"#,
                #"{"member":{"user":"bob","role":"MANAGER"}}"#,
                #"{"member":{"user":"eve","role":"RESTRICTED","muted":true,"tempMuted":true,"tempMuteSeconds":9}}"#,
                #"{"blacklisted":{"user":"mal"}}"#, "", message("a"), message("b"), #"{"end":true,"seq":2}"#,
            ], &importer)
        #expect(failure == nil)
        #expect(
            cluster.calls == [
                "POST /v1/rooms", "PUT /v1/rooms/r/members/bob/role", "PUT /v1/rooms/r/members/eve/mute",
                "PUT /v1/rooms/r/members/eve/tempMute", "PUT /v1/rooms/r/members/mal/blacklist", "GET /v1/rooms/r",
                "POST /v1/rooms/r/import", "PUT /v1/rooms/r/mute", "POST /v1/rooms/r/close",
            ])
        let bodies = cluster.state.withLock { $0.calls.map(\.body) }
        #expect(bodies[0] == #"{"creator":"ann","id":"r","name":"N"}"#)
        #expect(bodies[1] == #"{"notify":false,"role":"MANAGER"}"#)
        #expect(bodies[3] == #"{"notify":false,"seconds":9}"#)
        #expect(bodies[7] == #"{"enable":true,"notify":false}"#)
        var expected = Importer.Figures()
        (expected.rooms, expected.members, expected.imported) = (1, 4, 2)
        #expect(importer.figures == expected)
        #expect(importer.isWhole)
    }

    /// The seconds are those that are left when the ban is brought, and no more than the server takes.
    @Test(
        arguments: [
            (1, 1), (1_000, 1), (1_001, 2), (3_600_000, 3_600), (2_592_000_000, 2_592_000), (2_592_000_001, 2_592_000),
            (0, nil), (-5, nil),
        ] as [(Int64, Int64?)])
    func `a ban is brought for what is left of it, quietly, and left out when it is over`(
        left: Int64, seconds: Int64?
    ) async throws {
        let cluster = Cluster()
        var importer = importer(cluster)
        let failure = await take(
            [
                #"{"room":{"id":"r","creator":"ann"}}"#,
                #"{"banned":{"user":"mal","role":"GUEST","banEndsAt":\#(Self.now + left)}}"#,
            ], &importer)
        #expect(failure == nil)
        var (calls, bodies) = (["POST /v1/rooms"], [#"{"creator":"ann","id":"r"}"#])
        if let seconds {
            calls.append("POST /v1/rooms/r/members/mal/kick")
            bodies.append(#"{"banSeconds":\#(seconds),"notify":false}"#)
        }
        #expect(cluster.calls == calls)
        #expect(cluster.state.withLock { $0.calls.map(\.body) } == bodies)
        #expect(importer.figures.members == (seconds == nil ? 0 : 1))
    }

    @Test(arguments: [(#"{"user":"mal"}"#, "no banEndsAt"), (#"{"banEndsAt":1795241999000}"#, "no user")])
    func `a ban without its user or its end ends the import`(member: String, complaint: String) async throws {
        let cluster = Cluster()
        var importer = importer(cluster)
        let failure = await take([#"{"room":{"id":"r","creator":"ann"}}"#, #"{"banned":\#(member)}"#], &importer)
        #expect(failure?.code == .usage)
        #expect(failure?.message.hasPrefix("line 2: the banned member has \(complaint)") == true)
        #expect(cluster.calls == ["POST /v1/rooms"])
    }

    @Test func `an export that broke off is seen by its missing end, and messages alone need none`() async throws {
        let cluster = Cluster()
        var importer = importer(cluster)
        #expect(await take([#"{"room":{"id":"r","creator":"ann"}}"#, message("a")], &importer) == nil)
        #expect(!importer.isWhole)
        #expect(await take([message("b"), #"{"end":true,"seq":2}"#], &importer) == nil)
        #expect(importer.isWhole)
        #expect(await take([#"{"room":{"id":"s","creator":"ann"}}"#, message("c")], &importer) == nil)
        #expect(await take([#"{"room":{"id":"t","creator":"ann"}}"#, #"{"end":true,"seq":0}"#], &importer) == nil)
        #expect(!importer.isWhole, "the second of three")
        var resumed = self.importer(cluster)
        resumed.pass(Array(#"{"room":{"id":"u","creator":"ann"}}"#.utf8))
        #expect(await take([message("d")], &resumed) == nil)
        #expect(!resumed.isWhole)
        var other = self.importer(cluster, room: "r")
        #expect(await take([message("c")], &other) == nil)
        #expect(other.isWhole)
    }

    @Test func `messages go in batches of a hundred, and of less than the server's bound`() async throws {
        let cluster = Cluster()
        var importer = importer(cluster)
        let long = String(repeating: "x", count: 30_000)
        let lines = (1...250).map { message("t\($0)") } + (1...9).map { message("\($0)\(long)") }
        #expect(await take(lines, &importer) == nil)
        let sizes = cluster.state.withLock { state in
            state.calls.filter { $0.target.hasSuffix("/import") }.map(\.body.utf8.count)
        }
        #expect(sizes.count == 4 && sizes.allSatisfy { $0 <= 256 << 10 })
        #expect(importer.figures.imported == 259)
        #expect(cluster.calls.first == "GET /v1/rooms/old")
    }

    /// A full batch is sent by the message after it.
    @Test(arguments: [1, 2, 64, 99, 100], [100, 250])
    func `a message that is refused is named by its line, and all before it are kept`(
        place: Int, count: Int
    ) async throws {
        let cluster = Cluster()
        var importer = importer(cluster)
        let failure = await take((1...count).map { message($0 == place ? "bad" : "t\($0)") }, &importer)
        #expect(failure?.code == .refused)
        #expect(failure?.message.hasPrefix("line \(place): no (414 BAD_PARAMETER)") == true)
        #expect(failure?.message.ranges(of: "--from-line").count == 1)
        #expect(failure?.message.contains("--from-line \(place) goes on") == true)
        #expect(cluster.state.withLock { $0.kept } == (1..<place).map { "t\($0)" })
    }

    @Test(arguments: [
        "x", "[]", "{}", #"{"message":1}"#, #"{"room":"r"}"#, #"{"member":{"role":"MANAGER"}}"#,
        #"{"banned":"mal"}"#,
        #"{"message":{"room":"old","time":1,"type":"TEXT","recalled":true}}"#, "\u{FF}",
    ])
    func `a line that is none ends the import with its number, behind those before it`(line: String) async throws {
        let cluster = Cluster()
        var importer = importer(cluster)
        let failure = await take([message("a"), line, message("b")], &importer)
        #expect(failure?.code == .usage)
        #expect(failure?.message.hasPrefix("line 2: ") == true && failure?.message.contains("--from-line 2") == true)
        #expect(cluster.state.withLock { $0.kept } == ["a"])
    }

    @Test func `recalled messages can be left out, and bare messages are lines too`() async throws {
        let cluster = Cluster()
        var importer = importer(cluster, room: "other", skipsRecalled: true)
        let lines = [
            #"{"room":"old","seq":1,"messageId":"m","time":1,"type":"TEXT","text":"bare"}"#,
            #"{"room":"old","seq":2,"messageId":"m","time":1,"type":"TEXT","recalled":true}"#,
        ]
        #expect(await take(lines, &importer) == nil)
        #expect(importer.figures.imported == 1 && importer.figures.skipped == 1)
        #expect(
            cluster.calls == [
                "GET /v1/rooms/other", "GET /v1/rooms/other/messages?order=DESC&limit=1", "POST /v1/rooms/other/import",
            ])
    }

    @Test func `lines that were brought before only say which room it is`() async throws {
        let cluster = Cluster()
        var importer = importer(cluster)
        importer.pass(Array(#"{"room":{"id":"r","creator":"ann","closed":true}}"#.utf8))
        importer.pass(Array(message("a").utf8))
        importer.pass(Array("x".utf8))
        #expect(await take([message("b")], &importer) == nil)
        #expect(
            cluster.calls == [
                "GET /v1/rooms/r", "GET /v1/rooms/r/messages?order=DESC&limit=1", "POST /v1/rooms/r/import",
                "POST /v1/rooms/r/close",
            ])
    }

    @Test func `a call is repeated under its key while it may pass, and the keys are those of lines and room`()
        async throws
    {
        let unavailable = HTTPAnswer(503, #"{"error":{"code":503,"name":"UNAVAILABLE","message":"wait"}}"#)
        let lost = HTTPFailure(nothingSent: false, message: "lost")
        var keys: [[String]] = []
        for createdAt in [5, 5, 6] {
            let cluster = Cluster()
            cluster.state.withLock {
                $0.createdAt = createdAt
                $0.first = [
                    .success(HTTPAnswer(200, #"{"createdAt":\#(createdAt)}"#)),
                    .success(HTTPAnswer(200, #"{"messages":[]}"#)), .success(unavailable), .failure(lost),
                ]
            }
            var importer = importer(cluster)
            #expect(await take([message("a")], &importer) == nil)
            #expect(cluster.calls.count == 5 && cluster.state.withLock { $0.kept } == ["a"])
            keys.append(cluster.state.withLock { $0.keys })
        }
        #expect(keys[0].count == 1 && keys[0][0].utf8.count <= 64)
        #expect(keys[0] == keys[1] && keys[0] != keys[2])
    }

    /// The server answers a repeated call as the first time.
    @Test func `messages that an earlier run has brought are counted apart from those that are new`() async throws {
        let cluster = Cluster()
        cluster.state.withLock {
            $0.first = [
                .success(HTTPAnswer(200, #"{"createdAt":5}"#)),
                .success(HTTPAnswer(200, #"{"messages":[{"seq":100}]}"#)),
                .success(HTTPAnswer(200, #"{"imported":100,"skipped":0,"seq":100}"#)),
                .success(HTTPAnswer(200, #"{"imported":50,"skipped":3,"seq":150}"#)),
            ]
        }
        var importer = importer(cluster)
        #expect(await take((1...153).map { message("t\($0)") }, &importer) == nil)
        var expected = Importer.Figures()
        (expected.imported, expected.present, expected.skipped) = (50, 100, 3)
        #expect(importer.figures == expected)
        #expect(cluster.calls.count == 4)
        #expect(
            ImportCommand.summary(importer.figures)
                == "imported 50 messages, 0 rooms, 0 members; 100 messages were there already; skipped 3 messages")
        (expected.imported, expected.present, expected.skipped, expected.rooms) = (1, 0, 0, 1)
        #expect(ImportCommand.summary(expected) == "imported 1 message, 1 room, 0 members; skipped 0 messages")
    }

    @Test func `a server that is never there is not waited for, one that stays away is given up`() async throws {
        let gone = Result<HTTPAnswer, HTTPFailure>.failure(HTTPFailure(nothingSent: true, message: "gone"))
        let never = Cluster()
        never.state.withLock { $0.first = [gone] }
        var first = importer(never)
        #expect(await take([message("a")], &first)?.code == .unreachable)
        #expect(never.calls.count == 1)
        let later = Cluster()
        later.state.withLock {
            $0.first = [.success(HTTPAnswer(200, "{}"))] + Array(repeating: gone, count: Importer.attemptsMax)
        }
        var second = importer(later)
        #expect(await take([message("a")], &second)?.message.hasPrefix("line 1: ") == true)
        #expect(later.calls.count == Importer.attemptsMax + 1)
    }

    @Test func `lines are read from a file whatever their lengths, up to a bound`() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("lines-\(UUID()).txt").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let lines = ["", "a", String(repeating: "b", count: 200_000), "", "c"]
        for end in ["", "\n"] {
            try Data((lines.joined(separator: "\n") + end).utf8).write(to: URL(fileURLWithPath: path))
            var reader = try LineReader(path)
            var read: [String] = []
            for _ in 0..<10 {
                guard let line = try reader.next() else { break }
                read.append(String(decoding: line, as: UTF8.self))
                #expect(reader.number == read.count)
            }
            reader.close()
            #expect(read == lines)
        }
        try Data(repeating: 1, count: LineReader.lineBytesMax + 100_000).write(to: URL(fileURLWithPath: path))
        var reader = try LineReader(path)
        defer { reader.close() }
        #expect(throws: CommandFailure.self) { try reader.next() }
        #expect(throws: CommandFailure.self) { try LineReader(path + ".none") }
    }
}
