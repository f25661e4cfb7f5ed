import SessionCore
import Synchronization

/// How many newcomers a node takes in a second (docs/CONFIGURATION.md), each with a burst of one second's worth; changed
/// while it runs by SIGHUP.
public struct AdmissionRates: Sendable, Hashable {
    /// Connections whose handshake is begun.
    public var handshakesPerSecond = 10_000
    public var connectsPerSecond = 5_000
    /// `enter`s into any rooms.
    public var entersPerSecond = 40_000

    public init() {}
}

/// Lets newcomers in as fast as the node takes them, over all its lanes, and spreads the others over time: a node that
/// comes back, or takes over what another one had, is met by everybody at once.
final class AdmissionControl: Sendable {
    enum Step {
        case handshake, connect, enter
    }

    private struct State {
        var rates: AdmissionRates
        var handshakes = Admission()
        var connects = Admission()
        var enters = Admission()

        /// The step's state and its rate.
        mutating func with<T>(_ step: Step, _ body: (inout Admission, Int) -> T) -> T {
            switch step {
            case .handshake: body(&handshakes, rates.handshakesPerSecond)
            case .connect: body(&connects, rates.connectsPerSecond)
            case .enter: body(&enters, rates.entersPerSecond)
            }
        }
    }

    private let state: Mutex<State>

    init(_ rates: AdmissionRates) { state = Mutex(State(rates: rates)) }

    func set(_ rates: AdmissionRates) { state.withLock { $0.rates = rates } }

    /// Whether there is a place now.
    /// - Parameter nowMilliseconds: of a clock that all loops share.
    func take(_ step: Step, nowMilliseconds: UInt64) -> Bool {
        let now = Int64(clamping: nowMilliseconds)
        return state.withLock { $0.with(step) { $0.take(ratePerSecond: $1, nowMilliseconds: now) } }
    }

    /// In how many milliseconds to come again, for somebody who found no place; each is told a later time.
    func wait(_ step: Step, nowMilliseconds: UInt64) -> Int64 {
        let now = Int64(clamping: nowMilliseconds)
        return state.withLock { $0.with(step) { $0.wait(ratePerSecond: $1, nowMilliseconds: now) } }
    }
}
