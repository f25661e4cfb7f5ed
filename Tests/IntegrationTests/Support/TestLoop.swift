import EventLoop

/// The loop that all clients of the test process live on. It runs until the process ends.
enum TestLoop {
    static let shared: EventLoop = {
        do {
            let loop = try EventLoop(name: "test clients")
            loop.start()
            return loop
        } catch {
            fatalError("no event loop for the tests: \(error)")
        }
    }()
}
