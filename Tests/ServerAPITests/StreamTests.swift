import ChatModel
import Foundation
import Synchronization
import Testing

@testable import ServerAPI

/// Answers that are made while they are sent.
@Suite(.timeLimit(.minutes(2))) struct StreamTests {
    private static let piece = [UInt8](repeating: UInt8(ascii: "Z"), count: 100_000)

    /// A route that streams pieces, the first with the answer.
    private static func route(_ pieces: Int, breaksOff: Bool = false) -> Route {
        var route = Route(
            method: .get, path: "/stream", name: "stream", summary: "", answer: .text(contentType: "text/plain")
        ) { _, _ in
            var answer = APIResponse(contentType: "text/plain", body: piece)
            let left = Mutex(pieces - 1)
            answer.stream = APIResponseStream {
                guard
                    left.withLock({ left in
                        left -= 1
                        return left >= 0
                    })
                else {
                    if breaksOff { throw CancellationError() }
                    return nil
                }
                return piece
            }
            return answer
        }
        route.needsAuthorization = false
        return route
    }

    @Test func `a stream arrives whole, and the connection serves on`() async throws {
        try await withServer(routes: [Self.route(40)]) { client in
            let socket = try HeldSocket(port: client.port)
            let request = "GET /stream HTTP/1.1\r\nHost: h\r\n"
            socket.send(request + "\r\n" + request + "Connection: close\r\n\r\n")
            let text = await socket.text(until: "")
            #expect(text.utf8.count(where: { $0 == UInt8(ascii: "Z") }) == 2 * 40 * 100_000)
            #expect(text.components(separatedBy: "\r\n0\r\n\r\n").count == 3)
        }
    }

    @Test func `a stream that breaks off has no end, so that its reader knows`() async throws {
        try await withServer(routes: [Self.route(3, breaksOff: true)]) { client in
            let socket = try HeldSocket(port: client.port)
            socket.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
            let text = await socket.text(until: "")
            #expect(!text.hasSuffix("0\r\n\r\n"))
        }
    }

    @Test func `of a stream that nobody reads little is made, and its reader is cut`() async throws {
        let (released, release) = AsyncStream.makeStream(of: Int.self)
        var route = Self.route(1)
        route.handler = { _, _ in
            let watch = Watch(release)
            var answer = APIResponse(contentType: "text/plain", body: Self.piece)
            answer.stream = APIResponseStream {
                watch.asked.withLock { $0 += 1 }
                return Self.piece
            }
            return answer
        }
        try await withServer(routes: [route], configure: { $0.unreadSeconds = 1 }) { client in
            let socket = try HeldSocket(port: client.port)
            socket.send("GET /stream HTTP/1.1\r\nHost: h\r\n\r\n")
            // Ends only because the server lets go. What the system's buffers hold is all that was made.
            for await asked in released {
                #expect(asked < 1_000)
                break
            }
            withExtendedLifetime(socket) {}
        }
    }

    /// Tells how often a stream was asked when it is gone.
    private final class Watch: Sendable {
        let asked = Mutex(0)
        private let released: AsyncStream<Int>.Continuation

        init(_ released: AsyncStream<Int>.Continuation) { self.released = released }

        deinit { released.yield(asked.withLock { $0 }) }
    }
}
