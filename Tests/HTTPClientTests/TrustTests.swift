import HTTPTestKit
import Testing
import Transport

@testable import HTTPClient

/// To whom a call goes.
struct TrustTests {
    @Test func `a certificate is accepted from whom it vouches for, and from nobody else`() async throws {
        try await TestCertificate.localhost.use { trustFile, tls in
            var configuration = HTTPClientConfiguration()
            configuration.trustFile = trustFile
            try await TestRun.run(configuration, tls: tls) { run in
                for host in ["localhost", "127.0.0.1"] {
                    let answer = try await run.client.send(run.request("/", "https://\(host):\(run.port)"))
                    #expect(answer.status == 200)
                }
            }
            // Not one of the system's roots.
            try await TestRun.run(tls: tls) { run in
                let error = await run.failure(run.request("/", "https://localhost:\(run.port)"))
                #expect(error?.code == .notTrusted && error?.nothingSent == true)
                #expect(await run.server.requests.isEmpty)
            }
        }
    }

    @Test func `a trusted certificate of another host is refused`() async throws {
        try await TestCertificate.other.use { trustFile, tls in
            var configuration = HTTPClientConfiguration()
            configuration.trustFile = trustFile
            try await TestRun.run(configuration, tls: tls) { run in
                let error = await run.failure(run.request("/", "https://localhost:\(run.port)"))
                #expect(error?.code == .notTrusted && error?.nothingSent == true)
                #expect(await run.server.requests.isEmpty)
            }
        }
    }

    @Test func `a server without TLS is sent nothing`() async throws {
        try await TestRun.run(answer: { _ in .last("HTTP/1.1 400 Bad Request\r\n\r\n") }) { run in
            var request = run.request("/", "https://localhost:\(run.port)")
            // It waits for the end of a head that TLS does not have.
            request.timeoutMilliseconds = 500
            let error = await run.failure(request)
            #expect(error != nil && error?.nothingSent == true)
            #expect(await run.server.requests.isEmpty)
        }
    }

    @Test(arguments: ["127.0.0.1", "localhost"])
    func `private addresses are refused where the socket is made, whatever leads to them`(_ host: String) async throws {
        var configuration = HTTPClientConfiguration()
        configuration.refusesPrivateAddresses = true
        try await TestRun.run(configuration) { run in
            let error = await run.failure(run.request("/", "http://\(host):\(run.port)"))
            #expect(error?.code == .privateAddress && error?.nothingSent == true, "\(String(describing: error))")
            #expect(await run.server.connectionsMade == 0)
        }
    }

    @Test(arguments: [
        "0.0.0.0", "10.1.2.3", "100.64.0.1", "127.9.9.9", "169.254.169.254", "172.31.255.255", "192.168.0.1",
        "224.0.0.1", "255.255.255.255", "::", "::1", "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "fd00::1",
        "fe80::1", "ff02::1",
    ]) func `addresses that the internet does not route are private`(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.isPrivate)
    }

    @Test(arguments: [
        "1.1.1.1", "100.63.255.255", "172.15.0.1", "172.32.0.1", "192.167.1.1", "223.255.255.255", "::ffff:8.8.8.8",
        "64:ff9b::808:808", "2002:808:808::", "2606:4700::1111", "2a00::1",
    ]) func `other addresses are not`(_ text: String) throws {
        let address = try #require(IPAddress(text))
        #expect(!address.isPrivate)
    }
}
