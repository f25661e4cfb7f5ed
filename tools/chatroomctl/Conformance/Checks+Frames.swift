import ControlClient
import FoundationEssentials
import HTTPWebSocket
import Wire

/// The bounds of a handshake and a frame before and after `connect` (PROTOCOL.md, "Frames").
extension ConformanceCheck {
    static let handshakes: [ConformanceCheck] = [
        .init("2", "a header section over 16 KB is refused with HTTP 431; a little less is accepted") { run in
            let long = [("X-Long", String(repeating: "x", count: 16_384))]
            try expect(try await run.handshakeStatus(headers: long) == 431, "16 KB and more were not")
            let short = [("X-Long", String(repeating: "x", count: 15_000))]
            try expect(try await run.handshakeStatus(headers: short) == nil, "15 KB were refused")
        },
        .init("2", "a header that the node reads is visible ASCII, else HTTP 400; others are skipped") { run in
            try expect(
                try await run.handshakeStatus(origin: "http://é.example") == 400, "an Origin that is not was taken")
            let flags = String(repeating: "\u{1F1E6}", count: 3000)
            try expect(
                try await run.handshakeStatus(headers: [("X-Other", flags)]) == nil, "another header was refused")
        },
        .init("2", "localhost, 127.0.0.1 and [::1] with another port are other origins") { run in
            try expect(
                try await run.handshakeStatus(origin: "http://\(run.clientHost):1") == 403, "another port was accepted")
            try expect(
                try await run.handshakeStatus(origin: "ftp://\(run.clientAuthority)") == 403,
                "another scheme was accepted")
        },
    ]

    /// A `connect` of exactly that many bytes.
    private static func connect(token: String, bytes: Int) -> [UInt8] {
        let head = #"{"id":1,"connect":{"token":"\#(token)","x":""#
        let tail = #""}}"#
        return Array((head + String(repeating: "x", count: bytes - head.utf8.count - tail.utf8.count) + tail).utf8)
    }

    static let framesBeforeConnect: [ConformanceCheck] = [
        .init(
            "2", "before connect is answered a frame over 64 KB closes with 1009, 64 KB that begin with connect do not"
        ) { run in
            let token = try await run.token(run.name("ann"))
            let long = try await run.open()
            await long.write(.text, connect(token: token, bytes: 65_537))
            try expect(try await long.closing() == 1009, "the close code is another")
            let short = try await run.open()
            await short.write(.text, connect(token: token, bytes: 65_536))
            try expect(try await short.reply(to: 1)["connect"]?["session"] != nil, "64 KB were refused")
        },
        .init("2", "before connect is answered a frame over 16 KB that does not begin with connect closes with 1009") {
            run in
            let client = try await run.open()
            let ping = #"{"id":1,"ping":{}}"#
            await client.write(text: ping + String(repeating: " ", count: 16_385 - ping.utf8.count))
            try expect(try await client.closing() == 1009, "the close code is another")
        },
        .init("2 connect", "a token over 4 KB is answered 413, then closed with 4401") { run in
            let client = try await run.open()
            let token = String(repeating: "a", count: 4097)
            try expect(try await client.refusal("connect", ["token": .text(token)]), code: 413)
            try expect(try await client.closing() == 4401, "the close code is another")
        },
    ]

    static let requestsInFrames: [ConformanceCheck] = [
        .init("2", "256 requests in a frame are answered; one more is 414 once, and closed with 1008") { run in
            func frame(_ count: Int) -> String {
                (1...count).map { #"{"id":\#($0 + 5000),"ping":{}}"# }.joined(separator: "\n")
            }
            let most = try await run.connected(run.name("ann"))
            await most.write(text: frame(256))
            try expect(try await most.reply(to: 5256)["ping"] != nil, "the 256th is not answered")
            let more = try await run.connected(run.name("bob"))
            await more.write(text: frame(257))
            try expect(try await more.closing() == 1008, "the close code is another")
            let errors = await more.items.filter { $0["error"]?["code"] == 414 }
            try expect(errors.count == 1, "414 was said \(errors.count) times")
        },
        .init("2", "the tenth malformed request in a row closes with 1008, also with an id") { run in
            let client = try await run.connected(run.name("ann"))
            for id in 1...10 { await client.write(text: #"{"id":\#(7000 + id),"ping":{},"room":{"room":"r"}}"#) }
            try expect(try await client.closing() == 1008, "the close code is another")
        },
        .init("2", "an operation that is not known is 400 and not malformed, and ignored without id") { run in
            let client = try await run.connected(run.name("ann"))
            for id in 1...12 { await client.write(text: #"{"id":\#(8000 + id),"fly":{}}"#) }
            for id in 1...12 {
                try expect(try await client.reply(to: Int64(8000 + id))["error"] ?? .null, code: 400)
            }
            for _ in 1...12 { await client.write(text: #"{"fly":{}}"#) }
            try await client.ask("ping")
            try expect(await client.items.filter { $0["id"] == nil && $0["error"] != nil }.isEmpty, "it was answered")
        },
        .init("2", "a ping with id is answered with the time; without id it is not answered") { run in
            let client = try await run.connected(run.name("ann"))
            await client.write(text: #"{"ping":{}}"#)
            let now = Int64(Date().timeIntervalSince1970 * 1000)
            let time = try await client.ask("ping")["time"]?.integer ?? 0
            try expect(abs(time - now) < 600_000, "time is \(time)")
            try expect(await client.items.filter { $0["ping"] != nil && $0["id"] == nil }.isEmpty, "it was answered")
        },
        .init(
            "2 Heartbeat", "the server pings every heartbeatSeconds, and drops who is silent for 2.5 of them (4408)",
            pace: .waiting
        ) { run in
            let client = try await run.open(answersPings: false)
            let answer = try await client.ask("connect", ["token": .text(try await run.token(run.name("ann")))])
            let seconds = Double(answer["heartbeatSeconds"]?.integer ?? 15)
            let began = ContinuousClock.now
            let code = try await client.closing(limit: .seconds(seconds * 2.5 + 15))
            let lasted = (ContinuousClock.now - began) / .seconds(1)
            try expect(code == 4408, "closed with \(code.map(String.init) ?? "no code")")
            try expect(lasted >= seconds * 2.5 - 1, "after \(lasted) s already")
            let pings = await client.pings
            try expect(pings >= 2, "\(pings) pings came")
        },
    ]
}
