/// How many connections to a port of the cluster may wait to say who they are, and for how long: the only place where
/// these numbers stand. Gossip's exchanges and the link each have so many places.
public struct StrangerLimits: Sendable, Hashable {
    /// Places for addresses that are no node's.
    public var places = 96
    /// Places for the addresses of nodes that are known, which nobody else can take.
    public var reserved = 128
    /// The most of either kind for one address. On one machine all nodes have one.
    public var perAddress = 32
    /// The first byte must have come by then, because a node speaks at once.
    public var firstByte = Duration.seconds(1)
    /// The introduction must have come in full by then, with TLS too.
    public var introduction = Duration.seconds(5)
    /// A stranger that has begun to speak is left alone for so long before it may be closed for another one's sake.
    public var patience = Duration.milliseconds(100)
    /// So many connections are accepted in one turn of the loop. Each then has two turns to be read, or to write if it
    /// is on the same loop, before as many others have come as one address has places.
    public var acceptsPerTurn: Int { max(1, perAddress / 2) }

    public init() {}
}

/// The places of connections that have not said who they are. A value: time and connections come in, and who has to go
/// comes out.
///
/// A node says who it is within a few round trips, and who only sits there costs others a place. So where there is none
/// left, the one that has waited for the longest goes: of the address of who comes, if that has too many, else of those
/// of the same kind (known or not); first who has said nothing at all. The newcomer is refused only while all of them
/// have begun to speak a moment ago. So however many hold connections open, a node that comes is heard. That needs two
/// things of the caller: who has spoken and is not read yet counts as one who has spoken, and a turn accepts at most
/// ``StrangerLimits/acceptsPerTurn``.
public struct StrangerPlaces<ID: Hashable & Sendable>: Sendable {
    /// The decision about a connection.
    public enum Admission: Sendable, Hashable {
        /// It has a place; the other one that is named has none any more, and is to be closed.
        case admitted(displaced: ID?)
        /// It is to be closed.
        case refused
    }

    private struct Place: Sendable {
        var id: ID
        var address: String
        var isKnown: Bool
        /// Since when it speaks; nil while it has said nothing.
        var spokeAt: UInt64?
    }

    private let limits: StrangerLimits
    private let patience: UInt64
    /// In the order in which they have come.
    private var places: [Place] = []

    /// - Parameter patience: `limits.patience` in milliseconds.
    public init(_ limits: StrangerLimits, patience: UInt64) {
        self.limits = limits
        self.patience = patience
    }

    /// Connections that have a place.
    public var count: Int { places.count }

    /// A connection has come.
    ///
    /// - Parameters:
    ///   - isKnown: whether a node is known at that address.
    ///   - hasSpoken: whether something was read of it already.
    ///   - now: milliseconds of a clock that never goes back.
    ///   - hasUnreadInput: whether something of another one waits to be read. It is asked at most once of each that has,
    ///     and once more of the one that goes.
    public mutating func admit(
        _ id: ID, from address: String, isKnown: Bool, hasSpoken: Bool, at now: UInt64,
        hasUnreadInput: (ID) -> Bool = { _ in false }
    ) -> Admission {
        var displaced: ID?
        let ofAddress = places.indices.filter { places[$0].address == address }
        let ofKind = places.indices.filter { places[$0].isKnown == isKnown }
        let crowd: [Int]? =
            ofAddress.count >= limits.perAddress
            ? ofAddress : ofKind.count >= (isKnown ? limits.reserved : limits.places) ? ofKind : nil
        if let crowd {
            let silent = crowd.first {
                guard places[$0].spokeAt == nil else { return false }
                guard hasUnreadInput(places[$0].id) else { return true }
                places[$0].spokeAt = now
                return false
            }
            let slow = crowd.first { places[$0].spokeAt.map { $0 + patience <= now } ?? false }
            guard let place = silent ?? slow else { return .refused }
            displaced = places.remove(at: place).id
        }
        places.append(Place(id: id, address: address, isKnown: isKnown, spokeAt: hasSpoken ? now : nil))
        return .admitted(displaced: displaced)
    }

    /// Something has come of it.
    public mutating func spoke(_ id: ID, at now: UInt64) {
        guard let place = places.firstIndex(where: { $0.id == id }), places[place].spokeAt == nil else { return }
        places[place].spokeAt = now
    }

    /// It has said who it is, or is gone.
    public mutating func leave(_ id: ID) { places.removeAll { $0.id == id } }
}
