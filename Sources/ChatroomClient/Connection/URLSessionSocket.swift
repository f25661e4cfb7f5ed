#if canImport(Darwin)
    import Foundation
    import Security

    typealias PlatformSocket = URLSessionSocket

    /// A WebSocket by `URLSession`, which does the handshake, TLS, pings and framing. As thin as can be, because it is only
    /// type-checked where this package is tested (`tools/apple/check`).
    ///
    /// Each has a session of its own, whose delegate queue keeps the order of what happens.
    struct URLSessionSocket: ClientSocket {
        private let task: URLSessionWebSocketTask
        private let delegate: SocketDelegate

        /// Begins to open one.
        static func open(
            _ address: GatewayAddress, tls: TLSOptions, connectMilliseconds: Int64, mailbox: SocketMailbox
        ) -> any ClientSocket {
            guard let url = URL(string: address.url) else {
                mailbox.put([.closed(code: nil, reason: "\(address.url) cannot be read as a URL")])
                return NoSocket()
            }
            let configuration = URLSessionConfiguration.ephemeral
            // The core watches over the connection. This is for silence, which its pings prevent.
            configuration.timeoutIntervalForRequest = 3_600
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            let delegate = SocketDelegate(tls, mailbox)
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
            let task = session.webSocketTask(with: url, protocols: [SocketEvent.subprotocol])
            task.maximumMessageSize = SocketEvent.messageBytesMax
            task.resume()
            return URLSessionSocket(task: task, delegate: delegate)
        }

        func send(_ texts: [[UInt8]], whenSent: @escaping @Sendable () -> Void) {
            for (number, text) in texts.enumerated() {
                let isLast = number == texts.count - 1
                // A failure ends the task, which is told by its delegate.
                task.send(.string(String(decoding: text, as: UTF8.self))) { _ in if isLast { whenSent() } }
            }
        }

        func readOn() { delegate.read(task) }

        func close(code: UInt16?) {
            guard let code else { return task.cancel() }
            task.cancel(with: URLSessionWebSocketTask.CloseCode(rawValue: Int(code)) ?? .normalClosure, reason: nil)
        }
    }

    private final class SocketDelegate: NSObject, URLSessionWebSocketDelegate, Sendable {
        private let tls: TLSOptions
        private let mailbox: SocketMailbox

        init(_ tls: TLSOptions, _ mailbox: SocketMailbox) {
            self.tls = tls
            self.mailbox = mailbox
        }

        /// Reads one message after the other, until the mailbox is full.
        func read(_ task: URLSessionWebSocketTask) {
            task.receive { [self] result in
                // A failure ends the task, which is told below.
                guard case .success(let message) = result else { return }
                let event: SocketEvent =
                    if case .string(let text) = message { .text(Array(text.utf8)) } else { .broken("a binary frame") }
                if mailbox.put([.heard, event]) { read(task) }
            }
        }

        func urlSession(
            _ session: URLSession, webSocketTask task: URLSessionWebSocketTask, didOpenWithProtocol subprotocol: String?
        ) {
            mailbox.put([.heard, .opened])
            read(task)
        }

        func urlSession(
            _ session: URLSession, webSocketTask task: URLSessionWebSocketTask,
            didCloseWith code: URLSessionWebSocketTask.CloseCode, reason: Data?
        ) {
            // 0 and 1005 stand for a close frame without a code.
            let number = UInt16(exactly: code.rawValue).flatMap { $0 == 0 || $0 == 1005 ? nil : $0 }
            mailbox.put([.closed(code: number, reason: reason.map { String(decoding: $0, as: UTF8.self) } ?? "")])
        }

        /// After a close frame too; then the client does not listen any more. The session keeps its delegate until it
        /// is told that nothing more comes.
        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            mailbox.put([.closed(code: nil, reason: error?.localizedDescription ?? "")])
            session.finishTasksAndInvalidate()
        }

        /// A gateway does not send clients elsewhere: they are told tokens.
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) {
            completionHandler(nil)
        }

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            ServerTrust(tls).answer(challenge, completionHandler)
        }
    }

    /// The trust in a server, as the app has configured it.
    struct ServerTrust: Sendable {
        private let tls: TLSOptions

        init(_ tls: TLSOptions) { self.tls = tls }

        func answer(
            _ challenge: URLAuthenticationChallenge,
            _ completionHandler: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) {
            guard challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust,
                let trust = challenge.protectionSpace.serverTrust,
                tls.trustedCertificatesPEM != nil || !tls.verifiesCertificates
            else { return completionHandler(.performDefaultHandling, nil) }
            guard !tls.verifiesCertificates || onLeaderConfirmed(trust) else {
                return completionHandler(.cancelAuthenticationChallenge, nil)
            }
            completionHandler(.useCredential, URLCredential(trust: trust))
        }

        /// Whether the app's certificates vouch for the server. The policy for its name is in `trust` already.
        private func onLeaderConfirmed(_ trust: SecTrust) -> Bool {
            guard let pem = tls.trustedCertificatesPEM, let trusted = try? PEM.certificates(pem) else { return false }
            let anchors = trusted.compactMap { SecCertificateCreateWithData(nil, Data($0) as CFData) }
            guard SecTrustSetAnchorCertificates(trust, anchors as CFArray) == errSecSuccess,
                SecTrustSetAnchorCertificatesOnly(trust, true) == errSecSuccess
            else { return false }
            return SecTrustEvaluateWithError(trust, nil)
        }
    }
#endif
