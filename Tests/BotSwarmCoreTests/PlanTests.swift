import BotSwarmCore
import ChatModel
import Foundation
import Testing

@Suite struct BackoffTests {
    @Test func `waits grow from half a second to the cap, with full jitter`() {
        var backoff = Backoff(maxMilliseconds: 30_000)
        var random = SeededGenerator(seed: 1)
        let caps: [UInt64] = [1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]
        for cap in caps {
            var copies = (0..<200).map { _ in backoff }
            let waits = copies.indices.map { copies[$0].next(using: &random) }
            #expect(waits.allSatisfy { (500...cap).contains($0) })
            #expect(Set(waits).count > 50)
            _ = backoff.next(using: &random)
        }
        backoff.succeed()
        let next = backoff.next(using: &random)
        #expect((500...1_000).contains(next))
    }

    @Test func `a low cap holds, also after many failures`() {
        var backoff = Backoff(maxMilliseconds: 100)
        var random = SeededGenerator(seed: 2)
        for _ in 0..<100 { #expect(backoff.next(using: &random) <= 100) }
    }

    /// What a push says, and the waits that may follow.
    private static let windows: [(low: Int64, high: Int64, waits: ClosedRange<UInt64>)] = [
        (500, 8_000, 500...8_000), (-5, -1, 0...0), (9, 3, 9...9), (.max, .max, 600_000...600_000),
    ]

    @Test func `a reconnect push decides one wait`() {
        for window in Self.windows {
            var backoff = Backoff(maxMilliseconds: 30_000)
            var random = SeededGenerator(seed: 3)
            backoff.obey(minMilliseconds: window.low, maxMilliseconds: window.high)
            let first = backoff.next(using: &random)
            #expect(window.waits.contains(first))
            let second = backoff.next(using: &random)
            #expect((500...1_000).contains(second))
        }
    }
}

@Suite struct SourceAddressesTests {
    @Test(arguments: ["127.0.0.1", "localhost", "127.1.2.3"])
    func `on loopback another source is taken before ports run out`(target: String) {
        var sources = SourceAddresses(target: target)
        let all = (0..<(3 * SourceAddresses.connectionsPerAddress)).map { _ in sources.next() }
        #expect(all[0] == nil && all[SourceAddresses.connectionsPerAddress - 1] == nil)
        #expect(all[SourceAddresses.connectionsPerAddress] == "127.0.0.2")
        #expect(all[2 * SourceAddresses.connectionsPerAddress] == "127.0.0.3")
    }

    @Test(arguments: ["10.0.0.1", "::1", "example.org", "127.example.org"])
    func `elsewhere the system chooses`(target: String) {
        var sources = SourceAddresses(target: target)
        let all = (0...SourceAddresses.connectionsPerAddress).compactMap { _ in sources.next() }
        #expect(all == [])
    }
}

@Suite struct PacerTests {
    private func instant(_ milliseconds: UInt64) -> SwarmInstant {
        SwarmInstant(nanoseconds: milliseconds * 1_000_000)
    }

    @Test func `messages are due at an even pace`() {
        var pacer = Pacer(ratePerSecond: 10, start: instant(0), phase: 0.5)
        var sent: [UInt64] = []
        for milliseconds in UInt64(0)..<1_000 where pacer.take(at: instant(milliseconds)) { sent.append(milliseconds) }
        #expect(sent == [50, 150, 250, 350, 450, 550, 650, 750, 850, 950])
    }

    @Test func `what is long overdue is forgone and counted`() {
        var pacer = Pacer(ratePerSecond: 10, start: instant(0), phase: 0)
        var count: UInt64 = 0
        while pacer.take(at: instant(10_000)) { count += 1 }
        #expect(count == 9)
        #expect(count + pacer.forgone == 101)
    }

    @Test func `rate 0 is always due`() {
        var pacer = Pacer(ratePerSecond: 0, start: instant(5), phase: 0.9)
        for _ in 0..<100 { #expect(pacer.take(at: instant(5)) == true) }
    }
}

@Suite struct CloseAdviceTests {
    @Test func `codes decide as the protocol says`() {
        #expect(CloseAdvice(closeCode: 4401) == .renewToken)
        for code in [4403, 4410, 1002, 1003, 1007, 1008, 1009] as [UInt16] {
            #expect(CloseAdvice(closeCode: code) == .stop)
        }
        for code in [nil, 1000, 1001, 1005, 1006, 1011, 4408, 4429, 4999] as [UInt16?] {
            #expect(CloseAdvice(closeCode: code) == .reconnect)
        }
    }
}

@Suite struct WebSocketAddressTests {
    @Test(arguments: [
        ("ws://127.0.0.1:7400", "127.0.0.1", 7400, "/v1/ws", "127.0.0.1:7400"),
        ("127.0.0.1:7400", "127.0.0.1", 7400, "/v1/ws", "127.0.0.1:7400"),
        ("ws://[::1]:80/x?y=1", "::1", 80, "/x?y=1", "[::1]:80"),
        ("ws://chat.example.org:65535/", "chat.example.org", 65_535, "/v1/ws", "chat.example.org:65535"),
    ])
    func `addresses are read`(text: String, host: String, port: Int, target: String, authority: String) throws {
        let address = try WebSocketAddress(text)
        #expect(address.host == host && address.port == port)
        #expect(address.target == target && address.authority == authority)
    }

    @Test(arguments: [
        "", "ws://", "ws://host", "ws://host:0", "ws://host:65536", "ws://:80", "wss://host:443", "http://host:80",
        "ws://a b:80", "ws://host:80/\r\nX: y", "ws://user@host:80",
    ])
    func `other texts are refused`(text: String) {
        #expect(throws: SwarmFailure.self) { try WebSocketAddress(text) }
    }
}

@Suite struct TokenSignerTests {
    /// Computed with Python's hmac and base64.
    @Test func `a token is what another implementation makes of the same claims`() throws {
        let signer = TokenSigner(TokenKey(kid: "app-1", secret: "0123456789abcdef0123456789abcdef"))
        let user = try #require(UserID("bot-k3-17"))
        #expect(
            signer.token(for: user, issuedAt: 1_700_000_000, expiresAt: 1_700_003_600) == """
                eyJhbGciOiJIUzI1NiIsImtpZCI6ImFwcC0xIiwidHlwIjoiSldUIn0.\
                eyJleHAiOjE3MDAwMDM2MDAsImlhdCI6MTcwMDAwMDAwMCwic3ViIjoiYm90LWszLTE3In0.\
                WNRWEiNBjVQlflI-m2h9KC6o2r6k5gPygiyIjibOa0o
                """)
    }
}

@Suite struct ScenarioTests {
    @Test func `the default makes sense`() { #expect(throws: Never.self) { try Scenario().check(openFilesMax: 1_024) } }

    @Test func `ten thousand bots fit into the open files of this project's machines`() {
        var scenario = Scenario()
        scenario.bots = 10_000
        #expect(throws: Never.self) { try scenario.check(openFilesMax: 20_000) }
        #expect(throws: SwarmFailure.self) { try scenario.check(openFilesMax: 10_000) }
    }

    @Test func `workers share the open files`() {
        var scenario = Scenario()
        scenario.bots = 40_000
        #expect(throws: Never.self) { try scenario.check(openFilesMax: 20_000, share: 4) }
        #expect(throws: SwarmFailure.self) { try scenario.check(openFilesMax: 20_000, share: 2) }
    }

    @Test func `every room has its managers, and slow ones are the share that was asked for`() {
        var scenario = Scenario()
        scenario.bots = 1_000
        scenario.rooms = 7
        scenario.managersPerRoom = 3
        scenario.slowPercent = 10
        let all = (0..<scenario.bots).map(BotID.init)
        for room in 0..<7 {
            #expect(all.count { scenario.isManager($0) && scenario.room(of: $0) == room } == 3)
        }
        let slow = all.filter(scenario.isSlow)
        #expect((95...99).contains(slow.count))
        #expect(!slow.contains { scenario.isSender($0) || scenario.isManager($0) })
    }

    @Test func `what makes no sense is refused`() {
        let changes: [(inout Scenario) -> Void] = [
            { $0.bots = 0 }, { $0.rooms = 0 }, { $0.rooms = 101 }, { $0.senders = 101 }, { $0.senders = -1 },
            { $0.stages[0].messageRate = -1 }, { $0.stages[0].messageRate = .nan }, { $0.bytes = 32 * 1024 + 1 },
            { $0.bytes = -1 }, { $0.stages[0].unkeptPercent = 101 }, { $0.stages[0].seconds = -1 },
            { $0.stages[0].seconds = .infinity }, { $0.stages[0].cutPercent = 101 }, { $0.stages = [] },
            { $0.rampPerSecond = -1 }, { $0.enteringMax = 0 }, { $0.slowPercent = 101 }, { $0.seatKeys = 0 },
            { $0.stages[0].moderationRate = 1 }, { $0.managersPerRoom = 91 }, { $0.inFlightMax = 0 },
            { $0.loops = 0 }, { $0.loops = 65 }, { $0.drainSeconds = .nan }, { $0.reconnectMaxMilliseconds = 0 },
            {
                $0.stages[0].barrageRate = 1; $0.bytes = 5 * 1024 + 1
            },
        ]
        for (index, change) in changes.enumerated() {
            var scenario = Scenario()
            change(&scenario)
            #expect(throws: SwarmFailure.self, "case \(index)") { try scenario.check(openFilesMax: 20_000) }
        }
    }
}

@Suite struct SwarmTargetTests {
    private let file = Data(
        """
        {"adminKey":"admin","tokenKey":{"kid":"k","secret":"0123456789abcdef0123456789abcdef"},
        "nodes":[{"id":"n1","client":"127.0.0.1:7400","api":"127.0.0.1:7401","link":"x","pid":1,"data":"/x"}]}
        """.utf8)

    /// A directory with a cluster file, and one below it.
    private func withDirectory(_ body: (URL, URL) throws -> Void) throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("swarm-\(UUID().uuidString)")
        let below = root.appendingPathComponent("a/b", isDirectory: true)
        try FileManager.default.createDirectory(at: below, withIntermediateDirectories: true)
        try FileManager.default.createDirectory(
            at: root.appendingPathComponent(".run"), withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        try file.write(to: root.appendingPathComponent(".run/cluster.json"))
        try body(root, below)
    }

    @Test func `the cluster file is found upward and gives everything`() throws {
        try withDirectory { _, below in
            let target = try SwarmTarget.find(url: nil, api: nil, keysFile: nil, environment: [:], directory: below)
            let address = try WebSocketAddress("127.0.0.1:7400")
            #expect(target.gateways == [address])
            #expect(target.api?.servers == ["127.0.0.1:7401"])
            #expect(target.api?.adminKey == "admin")
            #expect(target.signer != nil)
        }
    }

    @Test func `another cluster is not given the keys of the one in the file`() throws {
        try withDirectory { _, below in
            let target = try SwarmTarget.find(
                url: "ws://10.0.0.1:7400", api: "10.0.0.1:7401", keysFile: nil, environment: [:], directory: below)
            #expect(target.api == nil)
            #expect(target.signer == nil)
        }
    }

    @Test func `the environment gives keys`() throws {
        let target = try SwarmTarget.find(
            url: "ws://10.0.0.1:7400", api: "10.0.0.1:7401", keysFile: nil,
            environment: ["CHATROOM_ADMIN_KEY": "a", "CHATROOM_TOKEN_KID": "k", "CHATROOM_TOKEN_SECRET": "s"],
            directory: URL(fileURLWithPath: "/"))
        #expect(target.api?.adminKey == "a")
        #expect(target.signer != nil)
    }

    @Test func `a keys file that others may read is refused`() throws {
        try withDirectory { root, below in
            let path = root.appendingPathComponent(".run/cluster.json").path
            for (mode, isFine) in [(0o644, false), (0o600, true)] {
                try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
                let target = try? SwarmTarget.find(
                    url: nil, api: nil, keysFile: path, environment: [:], directory: below)
                #expect((target != nil) == isFine)
            }
        }
    }
}
