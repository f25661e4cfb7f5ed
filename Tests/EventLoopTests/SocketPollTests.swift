import Glibc
import Synchronization
import Testing

@testable import EventLoop

struct SocketPollTests {
    @Test func `a socket is reported while it is waited for, and not after the end`() async throws {
        let loop = try EventLoop(name: "polls")
        loop.start()
        var ends: [Int32] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        let (own, other) = (ends[0], ends[1])
        #expect(write(other, "x", 1) == 1)
        let ready: SocketPoll.Readiness = await withCheckedContinuation { continuation in
            loop.execute {
                nonisolated(unsafe) var poll: SocketPoll?
                poll = SocketPoll(loop: loop, descriptor: own) { ready in
                    // What is still there would be reported for ever.
                    poll?.close()
                    poll = nil
                    continuation.resume(returning: ready)
                }
                poll?.wait(for: [.readable, .writable])
                #expect(SocketPoll(loop: loop, descriptor: own) { _ in } == nil, "two on one descriptor")
            }
        }
        #expect(ready == [.readable, .writable])
        loop.shutdown()
        await loop.joined()
        #expect(Glibc.close(own) == 0 && Glibc.close(other) == 0)
    }
}
