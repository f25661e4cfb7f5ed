import ChatModel
import Synchronization
import Wire

/// The outcome of a command that was taken to the node that leads.
public enum ForwardOutcome: Sendable {
    case applied(SystemResult, index: UInt64)
    /// The node has said so.
    case refused(ChatError)
    /// Nothing has left this node: the other one can't be reached now.
    case unsent(ChatError)
    /// The node has said nothing: it may have made the change, or may make it yet.
    case unanswered(ChatError)
}

extension SystemCommand {
    /// A key for a command that must not be applied twice, where its caller has given none.
    func ownKey() -> String? {
        switch self {
        case .addNode, .removeNode, .readmitNode, .setDraining, .raiseLevel, .sanction, .revoke, .put:
            // So long a random number is in no caller's key.
            CallLedger.nodePrefix + "\(UInt64.random(in: 0 ... .max))-\(UInt64.random(in: 0 ... .max))"
        case .createCluster, .sanctionsTold, .begin, .finish, .nonce: nil
        }
    }

    /// Whether the next leader may be given it, too, where one has not answered. A claim that is given back twice might be
    /// another's the second time.
    var mayBeGivenAgain: Bool {
        if case .finish(answer: nil) = self { false } else { true }
    }

    /// Whether the command does nothing but to claim its key.
    var claimsItsKey: Bool {
        switch self {
        case .begin, .nonce: true
        default: false
        }
    }
}

/// The first of several outcomes; later ones are not heard.
final class FirstOutcome: Sendable {
    private enum Phase {
        case open(CheckedContinuation<ForwardOutcome, Never>?)
        case ended(ForwardOutcome)
    }

    private let phase = Mutex(Phase.open(nil))

    var hasEnded: Bool { phase.withLock { if case .ended = $0 { true } else { false } } }

    func end(_ outcome: ForwardOutcome) {
        let waiting = phase.withLock { phase -> CheckedContinuation<ForwardOutcome, Never>? in
            guard case .open(let waiting) = phase else { return nil }
            phase = .ended(outcome)
            return waiting
        }
        waiting?.resume(returning: outcome)
    }

    /// Returns the first one, now or when it comes. One caller may wait.
    func value() async -> ForwardOutcome {
        await withCheckedContinuation { continuation in
            let outcome = phase.withLock { phase -> ForwardOutcome? in
                if case .ended(let outcome) = phase { return outcome }
                phase = .open(continuation)
                return nil
            }
            if let outcome { continuation.resume(returning: outcome) }
        }
    }
}
