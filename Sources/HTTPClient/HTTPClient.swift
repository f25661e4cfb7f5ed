public import EventLoop
import Synchronization

/// Calls over HTTP/1.1 and HTTPS (TLS 1.2 or later) by libcurl, on a loop of the owner's. From any task.
///
/// Certificates are verified, redirects are not followed, and proxies of the environment are not used: a call goes to
/// the address it names, or nowhere. Everything is bounded: the calls, their time, their answers.
///
/// To be shut down before its loop ends.
public final class HTTPClient: Sendable {
    private let loop: EventLoop
    private let engine: LoopBound<Engine>
    private let isClosed = Mutex(false)
    private let numbers = Atomic<UInt64>(0)

    public init(loop: EventLoop, configuration: HTTPClientConfiguration = HTTPClientConfiguration()) {
        self.loop = loop
        engine = LoopBound(Engine(loop, configuration), loop: loop)
    }

    /// Sends a request and waits for the whole answer, whatever its status. Cancelling the task ends the call.
    public func send(_ request: HTTPClientRequest) async throws(HTTPClientError) -> HTTPClientAnswer {
        let number = numbers.add(1, ordering: .relaxed).newValue
        // The cancellation may come to the loop before the call does.
        let cancelled = Cancelled()
        let result: Result<HTTPClientAnswer, HTTPClientError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let isTaken = onLoop { engine in
                    guard !cancelled.isSet.load(ordering: .relaxed) else {
                        return continuation.resume(
                            returning: .failure(HTTPClientError(.cancelled, "the call was cancelled")))
                    }
                    engine.begin(number, request) { continuation.resume(returning: $0) }
                }
                guard !isTaken else { return }
                continuation.resume(returning: .failure(HTTPClientError(.shutDown, "the client was shut down")))
            }
        } onCancel: {
            cancelled.isSet.store(true, ordering: .relaxed)
            _ = onLoop { $0.cancel(number) }
        }
        return try result.get()
    }

    private final class Cancelled: Sendable {
        let isSet = Atomic(false)
    }

    /// Ends all connections. Calls under way fail, and so do later ones.
    public func shutdown() async {
        await withCheckedContinuation { continuation in
            isClosed.withLock { isClosed in
                guard !isClosed else { return continuation.resume() }
                isClosed = true
                loop.execute { [engine] in
                    engine.value.close()
                    continuation.resume()
                }
            }
        }
    }

    /// Under the lock, so that nothing is given to a loop that ended after the shutdown.
    private func onLoop(_ work: @escaping @Sendable (Engine) -> Void) -> Bool {
        isClosed.withLock { isClosed in
            guard !isClosed else { return false }
            loop.execute { [engine] in work(engine.value) }
            return true
        }
    }
}
