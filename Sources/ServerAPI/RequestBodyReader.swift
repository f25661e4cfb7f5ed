import ChatModel
import Hummingbird
import NIOCore

/// Reads a request's body within its bound, or throws it away so that the caller can read the refusal.
struct RequestBodyReader {
    let body: RequestBody
    /// What `Content-Length` says; nil when the body is chunked.
    let declaredBytes: Int?
    let bytesMax: Int
    /// Whether more of the body may follow on the connection, which then cannot be used for another request.
    private(set) var hasRest: Bool
    /// A body can be iterated once: what stopped in the middle is not read on.
    private var hasBegun = false

    /// Bytes beyond the bound that are still read, because a connection that is closed on unread bytes loses the
    /// answer (RFC 9112, section 9.6).
    static let discardedBytesMax = 8 << 20

    init(of request: Request, bytesMax: Int) {
        body = request.body
        self.bytesMax = bytesMax
        declaredBytes = request.headers[.contentLength].flatMap { Int($0) }
        hasRest = request.headers[.transferEncoding] != nil || (declaredBytes ?? 0) > 0
    }

    /// - Throws: 413 for a body over the bound, 400 for a broken one.
    mutating func read() async throws(ChatError) -> [UInt8] {
        guard hasRest else { return [] }
        guard (declaredBytes ?? 0) <= bytesMax else {
            await discard()
            throw tooLarge
        }
        var bytes: [UInt8] = []
        var total = 0
        hasBegun = true
        do {
            for try await buffer in body {
                total += buffer.readableBytes
                if total <= bytesMax {
                    bytes.append(contentsOf: buffer.readableBytesView)
                } else if total > bytesMax + Self.discardedBytesMax {
                    throw tooLarge
                }
            }
        } catch let error as ChatError {
            throw error
        } catch {
            throw ChatError(.malformed, "the body is not complete")
        }
        hasRest = false
        guard total <= bytesMax else { throw tooLarge }
        return bytes
    }

    /// Whether ``discard()`` may come to the end; false when it is known to be beyond the bound, or reading has stopped.
    var mayBeDiscarded: Bool { !hasBegun && (declaredBytes ?? 0) <= Self.discardedBytesMax }

    /// Reads on without keeping anything, up to a bound.
    mutating func discard() async {
        guard hasRest, mayBeDiscarded else { return }
        hasBegun = true
        var total = 0
        do {
            for try await buffer in body {
                total += buffer.readableBytes
                guard total <= Self.discardedBytesMax else { return }
            }
            hasRest = false
        } catch {
            // The connection has failed: there is nobody to answer, and it cannot be used again.
        }
    }

    private var tooLarge: ChatError { ChatError(.tooLarge, "the body is over \(bytesMax) bytes") }
}
