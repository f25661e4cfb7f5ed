import ChatModel

/// The users who are banned or muted in all rooms (PROTOCOL.md, "App-wide sanctions"): at most `usersMax` of each. Those that
/// have ended go when there is no room for another.
public struct Sanctions: Sendable, Equatable {
    public static let usersMax = 100_000

    private let usersMax: Int
    private var banned: [UserID: UserSanction] = [:]
    private var muted: [UserID: UserSanction] = [:]

    public init(usersMax: Int = Self.usersMax) { self.usersMax = usersMax }

    public subscript(_ kind: SanctionKind) -> [UserID: UserSanction] {
        get { kind == .banned ? banned : muted }
        // In place: with a copy each ban would cost as much as there are.
        _modify { if kind == .banned { yield &banned } else { yield &muted } }
    }

    /// The sanction that is in force.
    public func sanction(_ kind: SanctionKind, of user: UserID, at now: Timestamp) -> UserSanction? {
        let found = kind == .banned ? banned[user] : muted[user]
        return found.flatMap { $0.isInForce(at: now) ? $0 : nil }
    }

    var isEmpty: Bool { banned.isEmpty && muted.isEmpty }

    /// - Parameter sanction: nil lifts.
    /// - Throws: 409 when there are as many as there may be.
    mutating func set(
        _ kind: SanctionKind, of user: UserID, to sanction: UserSanction?, at now: Timestamp
    ) throws(ChatError) {
        if sanction != nil, self[kind][user] == nil, self[kind].count >= usersMax {
            self[kind] = self[kind].filter { $0.value.isInForce(at: now) }
            guard self[kind].count < usersMax else {
                throw ChatError(.conflict, "\(usersMax) users are \(kind.rawValue.lowercased()) already")
            }
        }
        self[kind][user] = sanction
    }

    /// Those that are in force, in the order of their users.
    public func page(
        _ kind: SanctionKind, after: UserID?, limit: Int, at now: Timestamp
    ) -> Page<(user: UserID, sanction: UserSanction), UserID> {
        // The first ones, never many at once: sorting all of them would hold up the system group for each page.
        let wanted = limit + 1
        var first: [(user: UserID, sanction: UserSanction)] = []
        func keepWanted() {
            first.sort { $0.user < $1.user }
            first.removeLast(max(0, first.count - wanted))
        }
        for (user, sanction) in self[kind] where sanction.isInForce(at: now) {
            if let after, user <= after { continue }
            if first.count >= 2 * wanted { keepWanted() }
            first.append((user, sanction))
        }
        keepWanted()
        let shown = Array(first.prefix(limit))
        return Page(items: shown, next: first.count > limit ? shown.last?.user : nil)
    }
}
