import SimulatedSystem

/// A machine of the simulation.
public struct SimulatedHost: Sendable {
    public let number: Int32
    /// The last number of its address.
    public let place: UInt8

    public var address: String { "127.0.0.\(place)" }

    /// A machine at an address that no other living one has.
    public init(place: UInt8) {
        self.place = place
        number = sim_host(place)
    }

    /// Runs a task on the machine.
    public func run(_ name: String, _ body: @escaping @Sendable () async -> Void) {
        let box = Unmanaged.passRetained(Work(body))
        sim_start(
            number, name,
            { context in
                guard let context else { return }
                let work = Unmanaged<Work>.fromOpaque(context).takeRetainedValue()
                Task { await work.body() }
            }, box.toOpaque())
    }

    /// SIGSTOP, or a virtual machine that is paused.
    public func freeze() { sim_freeze(number, 1) }
    /// SIGCONT.
    public func thaw() { sim_freeze(number, 0) }
    /// SIGKILL; with its machine, nobody hears of it.
    public func kill(withMachine: Bool = false) { sim_kill(number, withMachine ? 1 : 0) }

    private final class Work: Sendable {
        let body: @Sendable () async -> Void
        init(_ body: @escaping @Sendable () async -> Void) { self.body = body }
    }
}

/// Time since the beginning of the simulation.
public enum SimulatedTime {
    public static var now: Duration { .nanoseconds(Int64(sim_now())) }
}
