import EventLoop
import FoundationEssentials
import HTTPClient
import TLS

/// Calls over HTTP, or HTTPS where the address says so. Redirects are not followed and proxies of the environment not
/// used: the admin key goes to the server itself.
package struct NetworkTransport: HTTPTransport {
    private let client: HTTPClient

    package static let timeoutSeconds: Int64 = 15
    /// For a question that another node can be asked as well. A node that lives may itself wait five seconds for one that does
    /// not, and then answers.
    package static let patienceSeconds: Int64 = 8
    /// For a question that costs a node nothing: whether it lives, and serves.
    package static let healthSeconds: Int64 = 5
    /// The largest answer that is taken: a page of the largest messages.
    private static let answerBytesMax = 64 << 20

    /// One for the process, which ends with it.
    private static let loop: Result<EventLoop, EventLoopError> = {
        do throws(EventLoopError) {
            let loop = try EventLoop(name: "calls")
            loop.start()
            return .success(loop)
        } catch {
            return .failure(error)
        }
    }()

    /// - Parameter trustFile: PEM of the certificates that are trusted instead of the system's roots.
    package init(trustFile: String? = nil) throws(CommandFailure) {
        if let trustFile { _ = try Self.tls(trustFile: trustFile, serverName: "") }
        var configuration = HTTPClientConfiguration()
        configuration.trustFile = trustFile
        configuration.connectMilliseconds = Self.timeoutSeconds * 1_000
        switch Self.loop {
        case .success(let loop): client = HTTPClient(loop: loop, configuration: configuration)
        case .failure(let error): throw CommandFailure(.usage, "\(error)")
        }
    }

    /// For connections that are no calls.
    package static func tls(trustFile: String?, serverName: String) throws(CommandFailure) -> TLSContext {
        do {
            return try TLSContext(trustFile: trustFile, serverName: serverName)
        } catch {
            guard let trustFile else { throw CommandFailure(.usage, "\(error)") }
            throw CommandFailure(.usage, "\(trustFile) cannot be read as certificates in PEM")
        }
    }

    package func send(_ call: HTTPCall, to server: String) async throws(HTTPFailure) -> HTTPAnswer {
        var request = HTTPClientRequest(
            url: Self.url(call.target, at: server), timeoutMilliseconds: call.timeoutSeconds * 1_000,
            answerBytesMax: Self.answerBytesMax)
        request.method = call.method
        request.headers = call.headers.map { ($0.key, $0.value) }
        request.body = call.body.map { Array($0) }
        // A call that may be done once only goes out once only.
        request.reusesConnection = call.method == "GET" || call.headers["Idempotency-Key"] != nil
        do {
            let answer = try await client.send(request)
            return HTTPAnswer(status: answer.status, body: Data(answer.body))
        } catch {
            throw Self.failure(error, server, seconds: call.timeoutSeconds)
        }
    }

    /// - Parameter server: `host:port`, with `https://` before it for TLS.
    static func url(_ target: String, at server: String) -> String {
        (server.hasPrefix("https://") ? server : "http://" + server) + target
    }

    private static func failure(_ error: HTTPClientError, _ server: String, seconds: Int64) -> HTTPFailure {
        let message =
            switch error.code {
            case .unknownName: "\(server) has a name that is not known"
            case .noConnection: "\(server) refused the connection"
            case .timeout:
                "\(server) did not answer within \(error.nothingSent ? min(timeoutSeconds, seconds) : seconds) s"
            case .connectionClosed:
                "\(server) closed the connection without an answer"
                    + (server.hasPrefix("https://") ? "" : " (where it has TLS, write https:// before it)")
            case .notTrusted:
                "\(server) has no TLS, a certificate that is not trusted (--ca-file names others), or one that does not have "
                    + "this host's name or address in it"
            case .tooLarge: "\(server) gave an answer that is longer than \(answerBytesMax >> 20) MB"
            default: "\(server) gave no HTTP answer (\(error))"
            }
        return HTTPFailure(nothingSent: error.nothingSent, message: message)
    }
}
