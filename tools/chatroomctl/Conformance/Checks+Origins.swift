import ControlClient

/// The pages that may connect (PROTOCOL.md, "Origin").
extension ConformanceCheck {
    static let origins: [ConformanceCheck] = [
        .init("2", "the Origin of a gateway that the cluster advertises is accepted") { run in
            let client = try await run.open()
            let token = try await run.token(run.name("ann"))
            let gateways = try await client.ask("connect", ["token": .text(token)])["gateways"]?.items ?? []
            guard !gateways.isEmpty else { throw NotChecked("the cluster advertises no gateway") }
            for gateway in gateways.compactMap(\.text) {
                let parts = gateway.split(separator: "/", omittingEmptySubsequences: true)
                guard parts.count >= 2, gateway.hasPrefix("ws") else { throw Deviation("a gateway is \(gateway)") }
                let origin = (gateway.hasPrefix("wss:") ? "https://" : "http://") + parts[1]
                try expect(try await run.handshakeStatus(origin: origin) == nil, "\(origin) was refused")
            }
        },
        .init("2", "localhost, 127.0.0.1 and [::1] are one host where the listener is bound to loopback") { run in
            guard ["127.0.0.1", "localhost", "::1"].contains(run.clientHost) else {
                throw NotChecked("\(run.clientHost) is not loopback")
            }
            for host in ["localhost", "127.0.0.1", "[::1]"] {
                let origin = "\(run.clientScheme)://\(host):\(run.clientPort)"
                try expect(try await run.handshakeStatus(origin: origin) == nil, "\(origin) was refused")
            }
        },
    ]
}
