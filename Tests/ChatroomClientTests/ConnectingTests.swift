import ChatModel
import Testing
import Wire

@testable import ClientCore

/// How the client gets its connection and gets it back.
@Suite struct ConnectingTests {
    @Test func `a login asks for a token, opens, connects and enters`() {
        let script = Script()
        let ticket = script.ticket()
        #expect(script.happens(.start(ticket: ticket)).contains(.clientEvent(.state(.connecting))))
        #expect(script.latest.contains(.fetchToken(attempt: 1)))
        script.happens(.token(attempt: 1, "t"))
        #expect(script.latest.contains(.open(connection: 1, url: "ws://a")))
        script.happens(.opened(connection: 1))
        #expect(script.written.map(\.operation) == [.connect(ConnectRequest(token: "t", prime: true))])
        script.answer(script.written.first, .connect(Script.session()))
        #expect(script.outcome(ticket) == .success(.done))
        #expect(script.core.state == .connected)
    }

    @Test(arguments: [(0, 1), (1, 2), (3, 4)]) func `the first connection is retried that often`(
        count: Int, tries: Int
    ) {
        var settings = ClientSettings()
        settings.retryCount = count
        let script = Script(settings)
        let ticket = script.ticket()
        script.happens(.start(ticket: ticket))
        var opened = 0
        while case .connecting = script.core.state {
            for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
            opened += 1
            script.happens(.closed(connection: script.connection, code: nil, reason: "refused"))
            if case .connecting = script.core.state {
                script.untilTokenIsWanted()
            }
        }
        #expect(opened == tries)
        #expect(script.failure(ticket)?.code == .connectionFailed)
    }

    @Test func `retry count -1 does not end, and waits at most 30 s`() {
        var settings = ClientSettings()
        settings.retryCount = -1
        let script = Script(settings)
        script.happens(.start(ticket: script.ticket()))
        for _ in 0..<200 {
            for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
            script.happens(.closed(connection: script.connection, code: nil, reason: ""))
            let due = script.core.nextDeadline ?? script.now
            #expect((500...30_000).contains(due.milliseconds - script.now.milliseconds))
            script.now = due
            script.happens(.deadline)
            #expect(script.core.state == .connecting)
        }
    }

    @Test func `the wait has full jitter below a bound that doubles`() {
        var random = SplitMix64(seed: 7)
        for failures in 0..<12 {
            var low = Int64.max
            var high = Int64.min
            for _ in 0..<400 {
                var backoff = Backoff(minMilliseconds: 500, maxMilliseconds: 30_000)
                for _ in 0..<failures { backoff.fail() }
                let wait = backoff.next(using: &random)
                (low, high) = (min(low, wait), max(high, wait))
            }
            let cap = min(30_000, 500 << Int64(failures + 1))
            #expect(low >= 500 && low < 500 + cap / 4)
            #expect(high <= cap && high > cap / 2)
        }
    }

    @Test func `a reconnect push moves the client within its window, to the gateways named`() throws {
        let script = Script()
        script.goIn()
        script.push(.reconnect(ReconnectPush(minMs: 2_000, maxMs: 3_000, gateways: ["ws://b"])))
        let due = try #require(script.core.nextDeadline)
        #expect((2_000...3_000).contains(due.milliseconds - script.now.milliseconds))
        #expect(script.core.state == .connected, "it stays until then")
        script.pass(milliseconds: 1_999)
        #expect(script.core.state == .connected)
        let after = script.pass(milliseconds: 1_001)
        let attempt = try #require(Script.tokens(after).first, "at once: the wait was before")
        script.happens(.token(attempt: attempt, "t"))
        #expect(script.latest.contains(.open(connection: 2, url: "ws://b")))
    }

    @Test func `a server that closes first is obeyed all the same`() throws {
        let script = Script()
        script.goIn()
        script.push(.reconnect(ReconnectPush(minMs: 7_000, maxMs: 8_000)))
        script.happens(.closed(connection: 1, code: 1001, reason: "draining"))
        let due = try #require(script.core.nextDeadline)
        #expect((7_000...8_000).contains(due.milliseconds - script.now.milliseconds))
    }

    @Test func `a hostile window is bounded`() throws {
        for (low, high) in [(Int64.max, Int64.min), (-5, Int64.max), (Int64.max, Int64.max)] {
            let script = Script()
            script.goIn()
            script.push(.reconnect(ReconnectPush(minMs: low, maxMs: high)))
            script.happens(.closed(connection: 1, code: 1001, reason: ""))
            let due = try #require(script.core.nextDeadline)
            #expect((0...600_000).contains(due.milliseconds - script.now.milliseconds))
        }
    }

    @Test(arguments: [1002, 1003, 1007, 1008, 1009] as [UInt16]) func `a mistake of the client stops it`(code: UInt16) {
        let script = Script()
        script.goIn()
        script.happens(.closed(connection: 1, code: code, reason: ""))
        guard case .failed(let error) = script.core.state else { return #expect(Bool(false), "must have failed") }
        #expect(error.code == .protocolViolation && script.core.nextDeadline == nil)
    }

    @Test func `forced offline stops the client and says so`() {
        let script = Script()
        script.goIn()
        script.happens(.closed(connection: 1, code: 4403, reason: ""))
        #expect(script.latest.contains(.clientEvent(.forcedOffline)))
        guard case .failed(let error) = script.core.state else { return #expect(Bool(false), "must have failed") }
        #expect(error.code == .forcedOffline && script.core.nextDeadline == nil)
        #expect(script.roomEvents.last == .state(.failed(error)))
        #expect(script.latest.contains(.stayEnded(Script.room)))
    }

    @Test func `a client that was taken over stops`() {
        let script = Script()
        script.goIn()
        script.happens(.closed(connection: 1, code: 4410, reason: ""))
        #expect(script.latest.contains(.clientEvent(.takenOver)))
        #expect(script.core.nextDeadline == nil)
    }

    @Test(arguments: [nil, 1000, 1001, 1006, 4408, 4429, 4999] as [UInt16?])
    func `all other ends are followed by a reconnect`(code: UInt16?) throws {
        let script = Script()
        script.goIn()
        script.happens(.closed(connection: 1, code: code, reason: ""))
        #expect(script.core.state == .lost)
        let due = try #require(script.core.nextDeadline)
        #expect((500...30_000).contains(due.milliseconds - script.now.milliseconds))
        #expect(script.roomEvents.last == .state(.lost))
    }

    @Test func `a token that ended is replaced at once, and one that is refused thrice stops the client`() {
        let script = Script()
        script.goIn()
        script.now = script.now.adding(milliseconds: 60_000)
        script.happens(.heard(connection: 1))
        script.happens(.closed(connection: 1, code: 4401, reason: "expired"))
        #expect(script.latest.contains(.clientEvent(.tokenExpired)))
        #expect(script.latest.contains(.fetchToken(attempt: 2)))
        for number in 1...3 {
            script.untilTokenIsWanted()
            for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "bad")) }
            script.happens(.opened(connection: script.connection))
            let connection = script.connection
            script.refuse(script.written.first, ChatError(.unauthorized, "no"))
            script.happens(.closed(connection: connection, code: 4401, reason: "no"))
            if number < 3 { #expect(script.core.state == .lost) }
        }
        guard case .failed(let error) = script.core.state else { return #expect(Bool(false), "must have failed") }
        #expect(error.code == .unauthorized)
    }

    @Test func `a token with which the server has ended a session is not used again`() {
        let script = Script()
        script.goIn()
        script.happens(.closed(connection: 1, code: 4401, reason: "expired"))
        for number in 1...3 {
            script.untilTokenIsWanted()
            for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
            #expect(!script.latest.contains { if case .open = $0 { true } else { false } })
            if number < 3 { #expect(script.core.state == .lost) }
        }
        guard case .failed(let error) = script.core.state else { return #expect(Bool(false), "must have failed") }
        #expect(error.code == .unauthorized)
        // An app that connects anew may use it.
        script.happens(.start(ticket: script.ticket()))
        for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
        #expect(script.latest.contains { if case .open = $0 { true } else { false } })
    }

    @Test func `a token that the server has not taken yet is used after the end of the one before`() {
        let script = Script()
        script.goIn()
        script.push(.token(TokenPush(expiresInSeconds: 60)))
        script.happens(.renewedToken("later"))
        script.happens(.closed(connection: 1, code: 4401, reason: "expired"))
        script.untilTokenIsWanted()
        for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "later")) }
        #expect(script.latest.contains { if case .open = $0 { true } else { false } })
    }

    @Test func `the token in use is not sent to the server again`() {
        let script = Script()
        script.goIn()
        script.push(.token(TokenPush(expiresInSeconds: 60)))
        #expect(Script.written(script.happens(.renewedToken("t"))).isEmpty)
        #expect(Script.written(script.happens(.renewedToken("later"))).map(\.operation).count == 1)
    }

    @Test func `the address that was silent is the last one, however the server writes it`() {
        let script = Script(addresses: ["ws://a", "ws://b"])
        script.happens(.start(ticket: script.ticket()))
        for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
        script.happens(.opened(connection: script.connection))
        script.answer(
            script.written.first, .connect(Script.session(gateways: ["ws://a:80/v1/ws", "ws://b:80/v1/ws"])))
        script.pass(milliseconds: 18_750)
        script.pass(milliseconds: 10_000)
        #expect(script.core.state == .lost)
        script.untilTokenIsWanted()
        for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
        let last = script.effects.compactMap { if case .open(_, let url) = $0 { url } else { nil } }.last
        #expect(last?.hasPrefix("ws://b") == true)
    }

    @Test func `a new token is fetched before the old one ends`() {
        let script = Script()
        script.goIn()
        script.push(.token(TokenPush(expiresInSeconds: 60)))
        #expect(script.latest == [.clientEvent(.tokenExpiring(seconds: 60)), .renewToken])
        script.happens(.renewedToken("t2"))
        #expect(script.written.map(\.operation) == [.refresh(RefreshRequest(token: "t2"))])
    }

    @Test func `the address provider is asked at each connect and not longer than 10 s`() {
        let script = Script(addresses: [], asks: true)
        script.happens(.start(ticket: script.ticket()))
        #expect(script.latest.contains(.findAddresses(attempt: 1)))
        script.happens(.addresses(attempt: 1, ["ws://first"]))
        script.goOnline()
        #expect(script.effects.contains(.open(connection: 1, url: "ws://first")))
        script.happens(.closed(connection: 1, code: nil, reason: ""))
        while !script.latest.contains(.findAddresses(attempt: 2)), let due = script.core.nextDeadline {
            script.now = due
            script.happens(.deadline)
        }
        #expect(script.latest.contains(.findAddresses(attempt: 2)))
        script.pass(milliseconds: 9_999)
        #expect(script.latest.contains(.findAddresses(attempt: 2)), "nothing since")
        script.pass(milliseconds: 1)
        #expect(script.latest.contains(.fetchToken(attempt: 2)), "goes on with what is known")
        script.happens(.token(attempt: 2, "t"))
        #expect(script.latest.contains { if case .open(2, _) = $0 { true } else { false } })
        script.happens(.addresses(attempt: 2, ["ws://late"]))
        #expect(script.latest.isEmpty, "too late")
    }

    @Test func `what the provider gives is tried, and not what was known before, which may be out of date`() {
        let script = Script(addresses: ["ws://old"], asks: true)
        script.happens(.start(ticket: script.ticket()))
        script.happens(.addresses(attempt: 1, ["ws://a"]))
        script.happens(.token(attempt: 1, "t"))
        script.happens(.opened(connection: 1))
        script.answer(script.written.first, .connect(Script.session(gateways: ["ws://stale"])))
        for attempt in 2...5 as ClosedRange<UInt64> {
            script.happens(.closed(connection: script.connection, code: nil, reason: ""))
            while !script.latest.contains(.findAddresses(attempt: attempt)), let due = script.core.nextDeadline {
                script.now = due
                script.happens(.deadline)
            }
            script.happens(.addresses(attempt: attempt, ["ws://b"]))
            script.happens(.token(attempt: attempt, "t"))
        }
        let urls = script.effects.compactMap { if case .open(_, let url) = $0 { url } else { nil } }
        #expect(urls == ["ws://a", "ws://b", "ws://b", "ws://b", "ws://b"])
    }

    @Test func `a refusal of connect that names a time is waited for, with a spread behind it`() throws {
        var waits: Set<Int64> = []
        for seed in 1...8 as ClosedRange<UInt64> {
            let script = Script(seed: seed)
            script.happens(.start(ticket: script.ticket()))
            script.happens(.token(attempt: 1, "t"))
            script.happens(.opened(connection: 1))
            let before = script.now
            script.refuse(script.written.first, ChatError(.unavailable, "too many", retryAfterMs: 20_000))
            let due = try #require(script.core.nextDeadline)
            waits.insert(due.milliseconds - before.milliseconds)
        }
        #expect(waits.allSatisfy { (20_000...25_000).contains($0) })
        #expect(waits.count > 4)
    }

    @Test func `addresses are tried in turn`() {
        var settings = ClientSettings()
        settings.retryCount = -1
        let script = Script(settings, addresses: ["ws://a", "ws://b"])
        script.happens(.start(ticket: script.ticket()))
        for _ in 0..<4 {
            for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
            script.happens(.closed(connection: script.connection, code: nil, reason: ""))
            script.untilTokenIsWanted()
        }
        let urls = script.effects.compactMap { if case .open(_, let url) = $0 { url } else { nil } }
        #expect(urls == ["ws://a", "ws://b", "ws://a", "ws://b"])
    }

    @Test func `silence brings a ping, and a ping without an answer within 10 s drops the connection`() {
        let script = Script()
        script.goIn()
        script.pass(milliseconds: 18_749)
        #expect(script.latest.isEmpty || Script.written(script.latest).isEmpty)
        let first = script.pass(milliseconds: 1)
        #expect(Script.written(first).map(\.operation) == [.ping])
        let none = script.pass(milliseconds: 9_999)
        #expect(none.isEmpty)
        let drop = script.pass(milliseconds: 1)
        #expect(drop.contains(.close(connection: 1, code: 1000)))
        #expect(script.core.state == .lost)
    }

    @Test(arguments: [0, 1, 2])
    func `the address that was silent is the last one to be tried again`(before: Int) {
        let all = ["ws://a", "ws://b", "ws://c"]
        var settings = ClientSettings()
        settings.retryCount = -1
        let script = Script(settings, addresses: all)
        script.happens(.start(ticket: script.ticket()))
        for _ in 0..<before {
            for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
            script.happens(.closed(connection: script.connection, code: nil, reason: ""))
            script.untilTokenIsWanted()
        }
        for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
        script.happens(.opened(connection: script.connection))
        script.answer(script.written.first, .connect(Script.session(gateways: ["ws://c", "ws://b", "ws://a"])))
        script.pass(milliseconds: 18_750)
        script.pass(milliseconds: 10_000)
        #expect(script.core.state == .lost)
        for _ in 0..<3 {
            script.untilTokenIsWanted()
            for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
            script.happens(.closed(connection: script.connection, code: nil, reason: ""))
        }
        let urls = script.effects.compactMap { if case .open(_, let url) = $0 { url } else { nil } }
        #expect(Array(urls.prefix(before + 1)) == Array(all.prefix(before + 1)))
        #expect(Set(urls.dropFirst(before + 1)) == Set(all))
        #expect(urls.last == all[before])
    }

    @Test func `the session is offered again, and an exit that was owed is made good`() throws {
        let script = Script()
        script.goIn()
        script.happens(.closed(connection: 1, code: nil, reason: ""))
        let ticket = script.ticket()
        script.happens(.exit(ticket: ticket, Script.room))
        #expect(script.outcome(ticket) == .success(.done))
        #expect(script.comeOn() == nil, "it does not enter what was left")
        let connects = Script.written(script.effects).compactMap {
            if case .connect(let request) = $0.operation { request } else { nil }
        }
        #expect(connects.map(\.session) == [nil, SessionID("s")])
        #expect(script.written.map(\.operation) == [.exit(RoomNameRequest(room: Script.room))])
    }

    @Test func `closing leaves the rooms`() {
        let script = Script()
        script.goIn()
        script.happens(.stop)
        #expect(script.written.map(\.operation) == [.exit(RoomNameRequest(room: Script.room))])
        #expect(script.latest.contains(.close(connection: 1, code: 1000)))
        #expect(script.roomEvents == [.state(.exited)])
        #expect(script.core.state == .closed && script.core.nextDeadline == nil)
    }

    @Test(arguments: [0, 1, 3]) func `a lost connection is tried that often, in a row`(count: Int) {
        var settings = ClientSettings()
        settings.reconnectRetryCount = count
        let script = Script(settings)
        script.goIn()
        // Coming back begins the count anew.
        for _ in 0..<(count > 0 ? 2 : 0) { _ = script.comeBack() }
        let before = script.connection
        script.happens(.closed(connection: script.connection, code: nil, reason: ""))
        while case .lost = script.core.state {
            script.untilTokenIsWanted()
            for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
            script.happens(.closed(connection: script.connection, code: nil, reason: "refused"))
        }
        #expect(script.connection - before == UInt64(count))
        guard case .failed(let error) = script.core.state else { return #expect(Bool(false), "must have failed") }
        #expect(error.code == (count == 0 ? .connectionLost : .connectionFailed))
        #expect(script.roomEvents.last == .state(.failed(error)))
    }

    @Test func `the numbers are those of the protocol`() {
        let settings = ClientSettings()
        #expect(settings.retryCount == 3 && settings.reconnectRetryCount == -1)
        #expect(settings.reconnectMinMilliseconds == 500 && settings.reconnectMaxMilliseconds == 30_000)
        #expect(settings.providerMilliseconds == 10_000 && settings.gapWaitMilliseconds == 5_000)
        #expect(PendingRequest.changeMilliseconds < 600_000)
    }
}
