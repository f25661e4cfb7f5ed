import CShims

/// Starts a thread for work that blocks: databases and syncs. It ends when `body` returns.
///
/// The process stops when the operating system refuses the thread; that happens at start-up only, since nothing here
/// starts threads later.
///
/// - Parameter isInBackground: nobody waits for what the thread does. When it wakes up it takes the CPU from no thread
///   that somebody waits for; its share of the CPUs stays the same, so that it does not fall behind.
/// - Parameter givesWay: it may fall behind: where there is too little CPU for all, the others get theirs first. It must hold no
///   lock for which they wait.
public func startDatabaseThread(
    _ name: String, isInBackground: Bool = false, givesWay: Bool = false, _ body: @escaping @Sendable () -> Void
) {
    let box = Unmanaged.passRetained(
        ThreadBody {
            // A system that refuses runs it like any other thread: right, if not as quick.
            if isInBackground { _ = chatroom_wait_for_cpu() }
            if givesWay { _ = chatroom_give_way() }
            body()
        })
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
