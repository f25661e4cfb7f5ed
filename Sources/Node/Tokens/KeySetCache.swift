import Cryptography

/// The known keys of one key set, and when it is to be read. A value without clock and network: `KeySetReader` has
/// both.
///
/// It is read at the start, five minutes after the last reading began, and for a `kid` that is not known at most once
/// in 30 seconds. While it can't be read, the keys that are known stay.
struct KeySetCache: Sendable {
    /// PROTOCOL.md, "Tokens".
    static let intervalMilliseconds: Int64 = 5 * 60 * 1_000
    /// PROTOCOL.md, "Tokens": names that nobody has published must not make the node call the issuer all the time.
    static let unknownKidMilliseconds: Int64 = 30 * 1_000

    enum Answer: Sendable {
        case known([JWSKey])
        /// Read it now, and ask again when that has ended.
        case read
        /// It is being read: ask again when that has ended.
        case wait
        /// There is no such key.
        case unknown
        /// It has never been read, so nobody can say.
        case notReadYet
    }

    let algorithms: Set<JWSAlgorithm>
    /// nil before the first success.
    private(set) var keys: [String: [JWSKey]]?
    private(set) var isReading = false
    private var readAt: Int64?
    private var readForKidAt: Int64?

    init(algorithms: Set<JWSAlgorithm>) { self.algorithms = algorithms }

    /// When it is to be read next, unless a `kid` makes that sooner. It need not be asked for before.
    var dueAt: Int64 { readAt.map { $0 + Self.intervalMilliseconds } ?? .min }

    /// Whether it is to be read now. If so, the next event is ``onRead(_:)``.
    mutating func onTime(_ now: Int64) -> Bool {
        guard !isReading, now >= dueAt else { return false }
        begin(now)
        return true
    }

    /// The action for a token of this `kid` that says it is signed with this algorithm. After ``Answer/read`` the next
    /// event is ``onRead(_:)``.
    mutating func onKid(_ kid: String, algorithm: String, at now: Int64) -> Answer {
        guard algorithms.contains(where: { $0.rawValue == algorithm }) else { return .unknown }
        if let known = keys?[kid] { return .known(known) }
        guard !isReading else { return .wait }
        if let last = readForKidAt, now - last < Self.unknownKidMilliseconds {
            return keys == nil ? .notReadYet : .unknown
        }
        readForKidAt = now
        begin(now)
        return .read
    }

    private mutating func begin(_ now: Int64) {
        readAt = now
        isReading = true
    }

    /// The reading has ended; `nil`: without success.
    mutating func onRead(_ new: [String: [JWSKey]]?) {
        isReading = false
        if let new { keys = new }
    }
}
