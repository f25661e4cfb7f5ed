public import EventLoop
internal import HTTPClient

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

/// The app's answer.
public struct CallbackAnswer: Sendable, Hashable {
    public var status: Int
    public var body: [UInt8]

    /// 2xx.
    public var isAccepted: Bool { (200..<300).contains(status) }
}

/// Calls the app over HTTP or HTTPS: POST with JSON and a signature. From any task; nothing of it blocks the loop.
///
/// Redirects are not followed and proxies of the environment are not used: a call goes to the address that the
/// operator gave, or nowhere. Certificates are verified against the system's roots.
public final class CallbackClient: Sendable {
    private let client: HTTPClient
    private let allowedHosts: Set<String>

    /// - Parameters:
    ///   - loop: carries the calls; it must not end before ``shutdown()`` has returned.
    ///   - allowedHosts: the only hosts that are called; empty: any.
    ///   - refusesPrivateAddresses: whether a host is not called at an address that the internet does not route.
    public init(loop: EventLoop, allowedHosts: Set<String> = [], refusesPrivateAddresses: Bool = false) {
        var configuration = HTTPClientConfiguration()
        configuration.refusesPrivateAddresses = refusesPrivateAddresses
        client = HTTPClient(loop: loop, configuration: configuration)
        self.allowedHosts = Set(allowedHosts.map { $0.lowercased() })
    }

    /// Whether this address may be called.
    public func allows(_ address: CallbackAddress) -> Bool {
        allowedHosts.isEmpty || allowedHosts.contains(address.host)
    }

    public func post(_ request: CallbackRequest) async throws(CallbackError) -> CallbackAnswer {
        guard let address = CallbackAddress(request.url) else {
            throw CallbackError(.address, "the address is not an http or https URL")
        }
        guard allows(address) else { throw CallbackError(.address, "the host is not among the allowed ones") }
        let time = String(request.time)
        var call = HTTPClientRequest(
            url: request.url, timeoutMilliseconds: request.timeoutMilliseconds, answerBytesMax: request.answerBytesMax)
        call.method = "POST"
        call.headers = [
            ("Content-Type", "application/json"), ("User-Agent", "chatroom"), (CallbackSignature.timeHeader, time),
            (
                CallbackSignature.signatureHeader,
                CallbackSignature.value(secret: request.secret, time: time, body: request.body)
            ),
        ]
        call.body = request.body
        do throws(HTTPClientError) {
            let answer = try await client.send(call)
            return CallbackAnswer(status: answer.status, body: answer.body)
        } catch {
            throw Self.failure(error, request)
        }
    }

    private static func failure(_ error: HTTPClientError, _ request: CallbackRequest) -> CallbackError {
        switch error.code {
        case .timeout: CallbackError(.timeout, "no whole answer within \(request.timeoutMilliseconds) ms")
        case .tooLarge: CallbackError(.tooLarge, "the answer has more than \(request.answerBytesMax) bytes")
        case .privateAddress: CallbackError(.address, error.description)
        default: CallbackError(.transport, "the call failed: \(error)")
        }
    }

    /// Ends all connections. Calls under way fail, and so do later ones.
    public func shutdown() async { await client.shutdown() }
}
