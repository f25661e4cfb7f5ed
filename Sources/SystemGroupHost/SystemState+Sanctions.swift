import ChatModel
import Wire

/// Users who are banned or muted in all rooms, and what the app's webhook is owed of that.
extension SystemState {
    /// Sanctions of which the webhook is not told yet; older ones are forgotten and counted.
    static let owedSanctionsMax = 1_000

    mutating func sanction(
        _ user: UserID, _ kind: SanctionKind, seconds: Int64?, reason: String?, owes: Bool, index: UInt64
    ) -> (SystemResult, SystemChange?) {
        let former = sanctions.sanction(kind, of: user, at: time)
        // Lifting what is not there tells nobody.
        if seconds == 0, former == nil { return (.done, nil) }
        let new: UserSanction? =
            seconds == 0
            ? nil : UserSanction(since: time, endsAt: seconds.map { time.adding(seconds: $0) }, reason: reason)
        do throws(ChatError) {
            try sanctions.set(kind, of: user, to: new, at: time)
        } catch {
            return (.refused(error), nil)
        }
        if owes {
            owedSanctions.append(SanctionEvent(index: index, user: user, kind: kind, time: time, sanction: new))
            if owedSanctions.count > Self.owedSanctionsMax {
                owedSanctions.removeFirst()
                forgottenSanctions += 1
            }
        }
        return (.done, .sanctioned(user, kind, new))
    }

    mutating func sanctionsTold(through index: UInt64) -> (SystemResult, SystemChange?) {
        guard let first = owedSanctions.first, first.index <= index else { return (.done, nil) }
        owedSanctions.removeAll { $0.index <= index }
        forgottenSanctions = 0
        return (.done, nil)
    }

    func sanctionChanges(since old: SystemState) -> [SystemChange] {
        var changes: [SystemChange] = []
        for kind in SanctionKind.allCases {
            let (new, former) = (sanctions[kind], old.sanctions[kind])
            for (user, sanction) in new where former[user] != sanction {
                changes.append(.sanctioned(user, kind, sanction))
            }
            for user in former.keys where new[user] == nil { changes.append(.sanctioned(user, kind, nil)) }
        }
        return changes
    }

    mutating func restoreSanctions(_ snapshot: SystemSnapshot) {
        for item in snapshot.banned { sanctions[.banned][item.user] = item.sanction }
        for item in snapshot.muted { sanctions[.muted][item.user] = item.sanction }
        (owedSanctions, forgottenSanctions) = (snapshot.owedSanctions, snapshot.forgottenSanctions)
    }

    func storeSanctions(in snapshot: inout SystemSnapshot) {
        func stored(_ kind: SanctionKind) -> [SystemSanction] {
            sanctions[kind].sorted { $0.key < $1.key }.map { SystemSanction(user: $0.key, sanction: $0.value) }
        }
        (snapshot.banned, snapshot.muted) = (stored(.banned), stored(.muted))
        (snapshot.owedSanctions, snapshot.forgottenSanctions) = (owedSanctions, forgottenSanctions)
    }
}
