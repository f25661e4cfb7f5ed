import AsyncHTTPClient
import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Calls over HTTP, or HTTPS where the address says so. Redirects are not followed and proxies of the environment not
/// used: the admin key goes to the server itself.
struct NetworkTransport: HTTPTransport {
    private let tls: TLSConfiguration

    static let timeoutSeconds: Int64 = 15
    /// The largest answer that is taken: a page of the largest messages.
    private static let answerBytesMax = 64 << 20

    /// One for the process, which ends with it.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: .seconds(timeoutSeconds)))
        configuration.httpVersion = .http1Only
        // Another server is tried instead.
        configuration.connectionPool.retryConnectionEstablishment = false
        return HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
    }()

    /// - Parameter trustFile: PEM of the certificates that are trusted instead of the system's roots.
    init(trustFile: String? = nil) throws(CommandFailure) {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let trustFile {
            guard let roots = try? NIOSSLCertificate.fromPEMFile(trustFile), !roots.isEmpty else {
                throw CommandFailure(.usage, "\(trustFile) cannot be read as certificates in PEM")
            }
            tls.trustRoots = .certificates(roots)
        }
        self.tls = tls
    }

    func send(_ call: HTTPCall, to server: String) async throws(HTTPFailure) -> HTTPAnswer {
        var request = HTTPClientRequest(url: Self.url(call.target, at: server))
        request.method = HTTPMethod(rawValue: call.method)
        request.tlsConfiguration = tls
        for (name, value) in call.headers { request.headers.add(name: name, value: value) }
        if let body = call.body { request.body = .bytes(ByteBuffer(bytes: body)) }
        do {
            let answer = try await Self.client.execute(request, timeout: .seconds(call.timeoutSeconds))
            let body = try await answer.body.collect(upTo: Self.answerBytesMax)
            return HTTPAnswer(status: Int(answer.status.code), body: Data(body.readableBytesView))
        } catch {
            throw Self.failure(error, server, seconds: call.timeoutSeconds)
        }
    }

    /// - Parameter server: `host:port`, with `https://` before it for TLS.
    static func url(_ target: String, at server: String) -> String {
        (server.hasPrefix("https://") ? server : "http://" + server) + target
    }

    private static func failure(_ error: any Error, _ server: String, seconds: Int64) -> HTTPFailure {
        switch error {
        case let error as NIOConnectionError where error.connectionErrors.isEmpty:
            HTTPFailure(nothingSent: true, message: "\(server) has a name that is not known")
        case is NIOConnectionError:
            HTTPFailure(nothingSent: true, message: "\(server) refused the connection")
        case let error as IOError where error.errnoCode == ECONNREFUSED:
            HTTPFailure(nothingSent: true, message: "\(server) refused the connection")
        case let error as HTTPClientError where error == .connectTimeout || error == .tlsHandshakeTimeout:
            HTTPFailure(nothingSent: true, message: "\(server) did not answer within \(timeoutSeconds) s")
        case let error as HTTPClientError where error == .deadlineExceeded || error == .readTimeout:
            HTTPFailure(nothingSent: false, message: "\(server) did not answer within \(seconds) s")
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            HTTPFailure(nothingSent: false, message: "\(server) closed the connection without an answer")
        case NIOSSLError.uncleanShutdown, is IOError, is ChannelError:
            HTTPFailure(nothingSent: false, message: "\(server) closed the connection without an answer")
        case is NIOSSLError, is BoringSSLError, is NIOSSLExtraError:
            HTTPFailure(
                nothingSent: true,
                message: "\(server) has no TLS, or a certificate that is not trusted (--ca-file names others)")
        default:
            HTTPFailure(nothingSent: false, message: "\(server) gave no HTTP answer (\(type(of: error)))")
        }
    }
}
