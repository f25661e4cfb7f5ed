internal import Glibc
import Synchronization

/// The places for connections of one port: so many in all, and so many of one address.
///
/// A connection has a whole request of its own answered, or it waits: for a head, for the rest of a body, between two
/// requests, for the end of a request that has been refused, for a client that does not read its answer. When no place
/// is left for a new connection, the one that has waited longest gives way, of the same address if that has all of its
/// places. So whoever keeps connections without requests, however many, keeps nobody out. Only where all places have a
/// request that is being answered is the new connection refused.
final class APIPlaces: Sendable {
    /// The decision about a new connection.
    enum Verdict: Equatable {
        case taken
        /// Taken, and this one is to be closed for it.
        case takenFor(_ number: UInt64)
        case refused
    }

    private struct Place {
        var address: String
        /// By when it began to wait; nil while a request is answered.
        var waitingSince: UInt64?
    }

    private struct State {
        var places: [UInt64: Place] = [:]
        var byAddress: [String: Int] = [:]
        var ticks: UInt64 = 0

        mutating func tick() -> UInt64 {
            ticks += 1
            return ticks
        }

        mutating func remove(_ number: UInt64) {
            guard let place = places.removeValue(forKey: number) else { return }
            let count = byAddress[place.address, default: 0]
            byAddress[place.address] = count > 1 ? count - 1 : nil
        }

        /// O(places), which are few; only when none is left.
        func longestWaiting(of address: String?) -> UInt64? {
            var found: (number: UInt64, since: UInt64)?
            for (number, place) in places {
                guard let since = place.waitingSince, address == nil || place.address == address else { continue }
                if found.map({ since < $0.since }) ?? true { found = (number, since) }
            }
            return found?.number
        }
    }

    let max: Int
    let perAddressMax: Int
    private let state = Mutex(State())

    init(max: Int, perAddressMax: Int) {
        self.max = max
        self.perAddressMax = perAddressMax
    }

    /// - Parameter number: of the connection, never used before.
    func take(_ number: UInt64, of address: String) -> Verdict {
        state.withLock { state in
            var verdict = Verdict.taken
            let isAddressFull = state.byAddress[address, default: 0] >= perAddressMax
            if isAddressFull || state.places.count >= max {
                guard let other = state.longestWaiting(of: isAddressFull ? address : nil) else { return .refused }
                state.remove(other)
                verdict = .takenFor(other)
            }
            state.places[number] = Place(address: address, waitingSince: state.tick())
            state.byAddress[address, default: 0] += 1
            return verdict
        }
    }

    /// The connection waits from now on, or has a request answered.
    func set(_ number: UInt64, waits: Bool) {
        state.withLock { state in
            let now = state.tick()
            state.places[number]?.waitingSince = waits ? now : nil
        }
    }

    func give(_ number: UInt64) { state.withLock { $0.remove(number) } }

    /// The range that one customer of a network holds: an IPv4 address, or a /64 of IPv6.
    static func holder(_ address: String) -> String {
        var six = in6_addr()
        guard inet_pton(AF_INET6, address, &six) == 1 else { return address }
        return withUnsafeBytes(of: six) { bytes in
            // IPv4 mapped into IPv6 (RFC 4291 §2.5.5.2) is told apart in the last four bytes.
            let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
            let prefix = isMapped ? bytes[...] : bytes[..<8]
            return prefix.map { String($0, radix: 16) }.joined(separator: ":")
        }
    }
}
