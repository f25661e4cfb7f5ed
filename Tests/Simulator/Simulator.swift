import SimulatedSystem

/// The simulated world of this process.
public enum Simulator {
    private final class Story: @unchecked Sendable {
        // Touched by one thread at a time: the simulation runs no two at once.
        let body: @Sendable () async -> Void
        var isDone = false
        init(_ body: @escaping @Sendable () async -> Void) { self.body = body }
    }

    /// To be called first in a program: starts it again if its addresses or hashes are random.
    public static func prepare() {
        sim_prepare(CommandLine.unsafeArgv)
    }

    /// Runs a story from a seed, once in a process. Returns whether it came to its end within the simulated time.
    public static func run(seed: UInt64, within limit: Duration, _ body: @escaping @Sendable () async -> Void) -> Bool {
        let story = Story(body)
        let seconds = limit.components.seconds
        let context = Unmanaged.passRetained(story).toOpaque()
        withExtendedLifetime(story) {
            deadline = UInt64(seconds) * 1_000_000_000
            sim_run(
                seed,
                { context in
                    guard let context else { return }
                    let story = Unmanaged<Story>.fromOpaque(context).takeUnretainedValue()
                    Task {
                        await story.body()
                        story.isDone = true
                    }
                    while !story.isDone, sim_now() < Simulator.deadline { sim_sleep(20_000_000) }
                }, context)
        }
        return story.isDone
    }

    private nonisolated(unsafe) static var deadline: UInt64 = 0

    /// Two runs of one seed have the same.
    public static var fingerprint: UInt64 { sim_fingerprint() }
    public static var turns: UInt64 { sim_turns() }
}
