import EventLoop
import Testing

/// Runs `body` with a loop that has started, and ends the loop afterwards, which closes whatever is still open on it.
@discardableResult
func withLoop<Value>(_ name: String = "test", _ body: (EventLoop) async throws -> Value) async throws -> Value {
    let loop = try EventLoop(name: name)
    loop.start()
    let result: Result<Value, any Error>
    do {
        result = .success(try await body(loop))
    } catch {
        result = .failure(error)
    }
    loop.shutdown()
    await loop.joined()
    return try result.get()
}

/// Bytes in which a lost, doubled or moved piece shows.
func pattern(_ count: Int) -> [UInt8] {
    (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 / 251) }
}
