import AsyncHTTPClient
import Crypto
import NIOCore
import NIOHTTP1
import NIOPosix

/// One signed call of the app.
public struct CallbackRequest: Sendable {
    public var url: String
    public var secret: String
    /// JSON.
    public var body: [UInt8]
    /// Unix milliseconds.
    public var time: Int64
    /// For everything: name look-up, connection, request and the whole answer.
    public var timeoutMilliseconds: Int64
    /// Bytes of the answer's body; a longer one is `tooLarge`.
    public var answerBytesMax: Int

    public init(
        url: String, secret: String, body: [UInt8], time: Int64, timeoutMilliseconds: Int64, answerBytesMax: Int
    ) {
        self.url = url
        self.secret = secret
        self.body = body
        self.time = time
        self.timeoutMilliseconds = timeoutMilliseconds
        self.answerBytesMax = answerBytesMax
    }
}

/// What the app answered.
public struct CallbackAnswer: Sendable, Hashable {
    public var status: Int
    public var body: [UInt8]

    /// 2xx.
    public var isAccepted: Bool { (200..<300).contains(status) }
}

/// Calls the app over HTTP or HTTPS: POST with JSON and a signature, on threads of its own, so that no loop of ours
/// waits for a name, a connection or an answer.
///
/// Redirects are not followed and proxies of the environment are not used: a call goes to the address that the
/// operator gave, or nowhere. Certificates are verified against the system's roots.
public final class CallbackClient: Sendable {
    private let client: HTTPClient
    private let allowedHosts: Set<String>

    /// - Parameter allowedHosts: the only hosts that are called; empty: any.
    public init(allowedHosts: Set<String> = []) {
        var configuration = HTTPClient.Configuration(
            redirectConfiguration: .disallow, timeout: .init(connect: .seconds(10)))
        configuration.httpVersion = .http1Only
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = Self.connectionsPerHostMax
        // A receiver that is away is known at once; whoever calls decides when to try again.
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.connectionPool.idleTimeout = .seconds(30)
        client = HTTPClient(
            eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: configuration)
        self.allowedHosts = Set(allowedHosts.map { $0.lowercased() })
    }

    deinit {
        // A client that was never used, or is shut down already, may be let go; one that is neither may not.
        client.shutdown { _ in }
    }

    /// Calls under way to one host; further ones wait within their time.
    private static let connectionsPerHostMax = 64

    /// Whether this address may be called.
    public func allows(_ address: CallbackAddress) -> Bool {
        allowedHosts.isEmpty || allowedHosts.contains(address.host)
    }

    public func post(_ request: CallbackRequest) async throws(CallbackError) -> CallbackAnswer {
        guard let address = CallbackAddress(request.url) else {
            throw CallbackError(.address, "the address is not an http or https URL")
        }
        guard allows(address) else { throw CallbackError(.address, "the host is not among the allowed ones") }
        // Tasks of their own: a group's end raced with its last child's in the runtime ("pure virtual method called").
        let sending = Task { await send(request) }
        let timer = Task {
            do {
                try await Task.sleep(for: .milliseconds(request.timeoutMilliseconds))
            } catch {
                return false
            }
            sending.cancel()
            return true
        }
        let result = await withTaskCancellationHandler {
            await sending.value
        } onCancel: {
            sending.cancel()
        }
        timer.cancel()
        if case .failure = result, await timer.value {
            throw CallbackError(.timeout, "no whole answer within \(request.timeoutMilliseconds) ms")
        }
        return try result.get()
    }

    private func send(_ request: CallbackRequest) async -> Result<CallbackAnswer, CallbackError> {
        let time = String(request.time)
        var call = HTTPClientRequest(url: request.url)
        call.method = .POST
        call.headers.add(name: "Content-Type", value: "application/json")
        call.headers.add(name: "User-Agent", value: "chatroom")
        call.headers.add(name: CallbackSignature.timeHeader, value: time)
        call.headers.add(
            name: CallbackSignature.signatureHeader,
            value: CallbackSignature.value(secret: request.secret, time: time, body: request.body))
        call.body = .bytes(ByteBuffer(bytes: request.body))
        do {
            let answer = try await client.execute(
                call, timeout: .milliseconds(request.timeoutMilliseconds))
            let body = try await answer.body.collect(upTo: request.answerBytesMax)
            return .success(CallbackAnswer(status: Int(answer.status.code), body: Array(body.readableBytesView)))
        } catch is NIOTooManyBytesError {
            return .failure(CallbackError(.tooLarge, "the answer has more than \(request.answerBytesMax) bytes"))
        } catch let error as HTTPClientError where error == .deadlineExceeded || error == .connectTimeout {
            return .failure(CallbackError(.timeout, "no answer within \(request.timeoutMilliseconds) ms"))
        } catch {
            return .failure(CallbackError(.transport, "the call failed: \(type(of: error))"))
        }
    }

    /// Ends all connections. Calls under way fail.
    public func shutdown() async { try? await client.shutdown() }
}
