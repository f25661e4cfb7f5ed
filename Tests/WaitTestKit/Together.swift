/// Runs all of them at the same time and returns when all have ended. When one fails, the others are stopped, and its
/// error comes out: without that they would go on, and the failure would show as a test that takes too long.
/// - Parameter stop: asks those that run still to end. They are cancelled, too.
public func together(
    _ bodies: [@Sendable () async throws -> Void], stop: @Sendable () async -> Void
) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
        for body in bodies { group.addTask { try await body() } }
        do {
            // `waitForAll` waits for the others before it throws.
            while try await group.next() != nil {}
        } catch {
            await stop()
            group.cancelAll()
            throw error
        }
    }
}
