#if canImport(Darwin)
    import ChatModel
    import ClientCore
    import Foundation

    extension MediaTransfer {
        /// Returns when the server has all of it.
        func run() async throws(ClientError) {
            guard let url = URL(string: "\(address.isSecure ? "https" : "http")://\(address.signedAuthority)\(target)")
            else {
                throw ClientError(.noAddress, "\(target) cannot be read as a URL")
            }
            var request = URLRequest(url: url)
            request.httpMethod = "PUT"
            request.timeoutInterval = TimeInterval(stallSeconds)
            for header in headers { request.setValue(header.value, forHTTPHeaderField: header.name) }
            let delegate = TransferDelegate(tls, progress)
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            let task = session.uploadTask(with: request, from: Data(content))
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    delegate.start(task) { continuation.resume(returning: $0) }
                }
            } onCancel: {
                task.cancel()
            }
            session.finishTasksAndInvalidate()
            let (status, body) = try result.get()
            try Self.check(status: status, body: body)
        }
    }

    private final class TransferDelegate: NSObject, URLSessionDataDelegate, Sendable {
        private struct State {
            var body: [UInt8] = []
            var completion: (@Sendable (Result<(status: Int, body: [UInt8]), ClientError>) -> Void)?
        }

        private let trust: ServerTrust
        private let progress: @Sendable (Int) -> Void
        private let state = Locked(State())

        init(_ tls: TLSOptions, _ progress: @escaping @Sendable (Int) -> Void) {
            trust = ServerTrust(tls)
            self.progress = progress
        }

        func start(
            _ task: URLSessionTask,
            _ completion: @escaping @Sendable (Result<(status: Int, body: [UInt8]), ClientError>) -> Void
        ) {
            state.withLock { $0.completion = completion }
            task.resume()
        }

        func urlSession(
            _ session: URLSession, task: URLSessionTask, didSendBodyData sent: Int64, totalBytesSent: Int64,
            totalBytesExpectedToSend: Int64
        ) {
            progress(Int(clamping: totalBytesSent))
        }

        func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
            state.withLock { state in if state.body.count < 64 * 1024 { state.body += data } }
        }

        /// The content goes to the server that gave the place for it, and nowhere else.
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
        ) { completionHandler(nil) }

        func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
            let (body, completion) = state.withLock { state in
                defer { state.completion = nil }
                return (state.body, state.completion)
            }
            guard error == nil, let response = task.response as? HTTPURLResponse else {
                let isCancelled = (error as? URLError)?.code == .cancelled
                completion?(.failure(isCancelled ? MediaTransfer.cancelled : MediaTransfer.brokenOff))
                return
            }
            completion?(.success((response.statusCode, body)))
        }

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
            completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
        ) { trust.answer(challenge, completionHandler) }
    }
#endif
