import CShims

/// Starts a thread for work that blocks: databases and syncs. It ends when `body` returns.
///
/// The process stops when the operating system refuses the thread; that happens at start-up only, since nothing here
/// starts threads later.
public func startDatabaseThread(_ name: String, _ body: @escaping @Sendable () -> Void) {
    let box = Unmanaged.passRetained(ThreadBody(run: body))
    let result = chatroom_start_thread(
        name,
        { context in
            guard let context else { return }
            Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue().run()
        }, box.toOpaque())
    precondition(result == 0, "the system refused a thread (errno \(-result))")
}

private final class ThreadBody: Sendable {
    let run: @Sendable () -> Void

    init(run: @escaping @Sendable () -> Void) { self.run = run }
}
