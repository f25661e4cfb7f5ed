internal import CShims
import Glibc
import Logging
import Synchronization

/// Gives memory back to the system that nobody needs any more, as ``FreedMemory`` decides, from a thread of its own.
///
/// While pages go, the allocator's arena that they belong to is locked, some 0.2 ms for each MB (measured with glibc
/// 2.36), and a loop that allocates more than small pieces from it waits. Loops have arenas of their own, so after a
/// storm that took 500 MB on two loops each waits once for some 50 ms, at a time at which the storm is over. The thread
/// pushes nobody from a CPU, but runs at the loops' priority: it must not be kept from going on with a lock in its hand.
final class MemoryKeeper: Sendable {
    private let isStopping = Atomic(false)
    private let logger: Logger

    private init(_ logger: Logger) { self.logger = logger }

    /// Starts the thread; it ends some seconds after ``stop()``.
    static func start(logger: Logger) -> MemoryKeeper {
        let keeper = MemoryKeeper(logger)
        let result = chatroom_start_thread(
            "memory", { Unmanaged<MemoryKeeper>.fromOpaque($0.unsafelyUnwrapped).takeRetainedValue().run() },
            Unmanaged.passRetained(keeper).toOpaque())
        if result != 0 {
            Unmanaged.passUnretained(keeper).release()
            logger.warning("freed memory is not given back: no thread", metadata: ["error": "\(-result)"])
        }
        return keeper
    }

    func stop() { isStopping.store(true, ordering: .relaxed) }

    private func run() {
        // Where the system does not know it, the thread is a common one.
        _ = chatroom_wait_for_cpu()
        var freed = FreedMemory()
        while true {
            sleep(FreedMemory.lookSeconds)
            guard !isStopping.load(ordering: .relaxed) else { return }
            look(&freed)
        }
    }

    private func look(_ freed: inout FreedMemory) {
        let resident = chatroom_resident_bytes()
        guard resident >= 0, freed.isWorthALook(resident: resident) else { return }
        let allocated = chatroom_allocated_bytes()
        guard allocated >= 0, freed.look(resident: resident, allocated: allocated) else { return }
        let begin = ContinuousClock.now
        chatroom_give_memory_back(Self.keptBytes)
        let after = chatroom_resident_bytes()
        freed.trimmed(resident: after, allocated: chatroom_allocated_bytes())
        logger.info(
            "freed memory was given back",
            metadata: [
                "megabytes": "\((resident - after) >> 20)", "resident": "\(after >> 20)",
                "milliseconds": "\((ContinuousClock.now - begin) / .milliseconds(1))",
            ])
    }

    /// As much as the allocator keeps by itself (`chatroom_keep_freed_memory`).
    private static let keptBytes = 16 << 20
}
