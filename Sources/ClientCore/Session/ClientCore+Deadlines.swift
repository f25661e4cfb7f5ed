import ChatModel
import Wire

/// The times of connections and attempts.
extension ClientCore {
    /// When a silent connection is given up. One that works answers a ping at once, and the server pings as well.
    private var silenceEnds: ClientInstant {
        let silent = lastHeard.adding(milliseconds: heartbeatMilliseconds * 5 / 2)
        return pingedAt.map { min(silent, $0.adding(milliseconds: 10_000)) } ?? silent
    }

    /// When a silent connection is asked whether it works.
    private var pingIsDue: ClientInstant? {
        pingedAt == nil ? lastHeard.adding(milliseconds: heartbeatMilliseconds * 5 / 4) : nil
    }

    private func deadline(of phase: Phase) -> ClientInstant? {
        switch phase {
        case .idle, .stopped: nil
        case .findingAddress(_, let until), .gettingToken(_, let until), .opening(_, let until),
            .authenticating(_, let until), .waiting(let until), .settling(_, _, let until):
            until
        case .online:
            [silenceEnds, pingIsDue, moveAt].compactMap { $0 }.min()
        }
    }

    var connectionDeadline: ClientInstant? {
        [deadline(of: phase), successor.flatMap { deadline(of: $0) }].compactMap { $0 }.min()
    }

    mutating func connectionDeadline(_ now: ClientInstant) {
        if let due = successor.flatMap({ deadline(of: $0) }), due <= now { attemptIsDue(now) }
        guard let due = deadline(of: phase), due <= now else { return }
        if onlineConnection != nil { onlineIsDue(now) } else { attemptIsDue(now) }
    }

    private mutating func attemptIsDue(_ now: ClientInstant) {
        switch trying {
        case .idle, .stopped, .online: return
        case .findingAddress:
            log(.warning, "the address provider took too long: using the addresses known before")
            chooseAddress(now)
        case .gettingToken: attemptFailed(ClientError(.tokenUnavailable, "the token provider took too long"), now)
        case .opening, .authenticating: drop(triedConnection, "the server did not answer in time", now)
        case .settling(let number, let until, _): authenticate(number, until: until, now)
        case .waiting: attemptConnection(now)
        }
    }

    private mutating func onlineIsDue(_ now: ClientInstant) {
        if let moveAt, moveAt <= now {
            moveOn(now)
        } else if silenceEnds <= now {
            (silentAddress, addressIndex) = (usedAddress, 0)
            drop(onlineConnection, "nothing was heard for too long", now)
        } else if pingedAt == nil {
            pingedAt = now
            add(PendingRequest(.ping, .ping, at: now), now)
        }
    }

    mutating func heard(_ number: UInt64, _ now: ClientInstant) {
        guard number == onlineConnection else { return }
        lastHeard = now
        pingedAt = nil
    }
}
