/// The parts of a node that run, in the order in which they were begun. Each may use those before it, so the last one ends
/// first.
struct StartedServices {
    private var ends: [@Sendable () async -> Void] = []

    private init() {}

    /// Runs `body`, which begins parts, and ends all that have begun, in reverse, whether `body` returns or a part fails.
    static func run<Value>(_ body: (inout StartedServices) async throws -> Value) async throws -> Value {
        var services = StartedServices()
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(&services))
        } catch {
            result = .failure(error)
        }
        for end in services.ends.reversed() { await end() }
        return try result.get()
    }

    /// Opens a part that is there in full or not at all.
    ///
    /// - Parameters:
    ///   - close: called once, with what `open` has returned.
    ///   - reason: says what an error means for the node.
    @discardableResult
    mutating func open<Part: Sendable>(
        close: @escaping @Sendable (Part) async -> Void, orFail reason: (any Error) -> any Error = { $0 },
        _ open: () async throws -> Part
    ) async throws -> Part {
        do {
            let part = try await open()
            ends.append { await close(part) }
            return part
        } catch {
            throw reason(error)
        }
    }

    /// Starts a part that exists. One that fails may have started halfway, so it is stopped like the others.
    ///
    /// - Parameters:
    ///   - stop: called once.
    ///   - reason: says what an error means for the node.
    mutating func start(
        stop: @escaping @Sendable () async -> Void, orFail reason: (any Error) -> any Error = { $0 },
        _ start: () async throws -> Void
    ) async throws {
        ends.append(stop)
        do {
            try await start()
        } catch {
            throw reason(error)
        }
    }
}
