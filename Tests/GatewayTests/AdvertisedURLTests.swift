import ChatModel
import Testing
import Transport

@testable import Gateway

/// What clients are told of where to connect.
@Suite struct AdvertisedURLTests {
    private func urls(
        _ host: String, port: Int = 7400, isSecure: Bool = false,
        _ change: (inout GatewayConfiguration) -> Void = { _ in }
    )
        throws -> [String]
    {
        var configuration = GatewayConfiguration(node: try #require(NodeID("n1")))
        configuration.host = host
        change(&configuration)
        return configuration.urls(port: port, isSecure: isSecure)
    }

    @Test func `a port on one address is told as it is`() throws {
        #expect(try urls("127.0.0.1") == ["ws://127.0.0.1:7400/v1/ws"])
        #expect(try urls("192.0.2.7", port: 443, isSecure: true) == ["wss://192.0.2.7:443/v1/ws"])
        #expect(try urls("::1") == ["ws://[::1]:7400/v1/ws"])
    }

    @Test func `what nobody here knows is not guessed`() throws {
        for host in ["0.0.0.0", "::", "localhost"] { #expect(try urls(host) == []) }
        #expect(try urls("127.0.0.1") { $0.isBehindProxy = true } == [])
    }

    @Test func `what is configured holds`() throws {
        let url = "wss://chat.example/v1/ws"
        #expect(try urls("0.0.0.0") { $0.advertiseURLs = [url] } == [url])
        #expect(
            try urls("127.0.0.1") {
                $0.advertiseURLs = [url]
                $0.isBehindProxy = true
            } == [url])
    }
}
