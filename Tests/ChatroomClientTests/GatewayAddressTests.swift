import ClientCore
import Testing

@testable import ChatroomClient

/// URLs of gateways, as apps and servers write them.
@Suite struct GatewayAddressTests {
    @Test(arguments: [
        ("wss://chat.example.com", true, "chat.example.com", 443, "/v1/ws"),
        ("ws://127.0.0.1:7400", false, "127.0.0.1", 7400, "/v1/ws"),
        ("ws://127.0.0.1:7400/", false, "127.0.0.1", 7400, "/v1/ws"),
        ("wss://a:8443/chat/v1/ws?x=1", true, "a", 8443, "/chat/v1/ws?x=1"),
        ("wss://[::1]:7400/v1/ws", true, "::1", 7400, "/v1/ws"),
        ("wss://[::1]", true, "::1", 443, "/v1/ws"),
        ("ws://host?region=eu", false, "host", 80, "/v1/ws?region=eu"),
    ]) func `is read`(url: String, isSecure: Bool, host: String, port: Int, target: String) throws {
        let address = try GatewayAddress(url)
        #expect(address.isSecure == isSecure && address.host == host)
        #expect(address.port == port && address.target == target)
    }

    @Test(arguments: [
        "", "ws://", "http://a", "a:7400", "ws://:80", "ws://a:0", "ws://a:65536", "ws://a:x", "ws://a b",
        "ws://a/\r\nX: y",
        "ws://a/#fragment", "ws://a@b", "ws://a/ b",
    ]) func `is refused`(url: String) {
        #expect(throws: ClientError.self) { try GatewayAddress(url) }
    }

    @Test(arguments: [
        ("wss://chat.example.com", "wss://chat.example.com:443/v1/ws"),
        ("ws://[::1]:7400/?x=1", "ws://[::1]:7400/?x=1"),
    ]) func `is written with nothing left to be guessed`(url: String, whole: String) throws {
        #expect(try GatewayAddress(url).url == whole)
    }
}

/// What hands events to a consumer.
@Suite struct EventFeedTests {
    @Test func `what was pushed before and after the end`() async {
        let feed = EventFeed<RoomOverflow>(eventsMax: 2)
        feed.push(.online(1))
        feed.push(.online(2))
        feed.finish()
        feed.push(.online(3))
        #expect(await feed.next() == .online(1))
        #expect(await feed.next() == .online(2))
        #expect(await feed.next() == nil)
        #expect(await feed.next() == nil)
    }

    @Test func `a waiting consumer is woken by an event, by the end, and by being cancelled`() async {
        let feed = EventFeed<RoomOverflow>(eventsMax: 2)
        async let first = feed.next()
        feed.push(.online(1))
        #expect(await first == .online(1))
        let cancelled = Task { await feed.next() }
        cancelled.cancel()
        #expect(await cancelled.value == nil)
        async let last = feed.next()
        feed.finish()
        #expect(await last == nil)
    }
}
