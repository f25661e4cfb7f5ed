import ChatModel
import Consensus
import EventLoop
import GroupDriver

/// Changes go through the log, at the node that leads the group.
extension SystemGroup {
    /// Refuses every token of the user that was issued until now.
    /// - Parameter key: the caller's idempotency key; a repeat gets the first time and changes nothing.
    /// - Returns: the time; tokens issued then or before are refused.
    public func revoke(_ user: UserID, key: String? = nil) async throws(ChatError) -> Timestamp {
        guard case .revoked(let time) = try await propose(.revoke(user), key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
        return time
    }

    /// Bans or mutes a user in all rooms: for so many seconds, for good (nil), or no more (0).
    /// - Parameters:
    ///   - owes: the app has a webhook, which is to be told.
    ///   - key: as in `revoke`.
    /// - Throws: 409 when as many are banned or muted as there may be; 503 UPGRADING.
    public func sanction(
        _ user: UserID, _ kind: SanctionKind, seconds: Int64?, reason: String?, owes: Bool, key: String? = nil
    ) async throws(ChatError) {
        let command = SystemCommand.sanction(user, kind, seconds: seconds, reason: reason, owes: owes)
        guard case .done = try await propose(command, key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
    }

    /// The webhook has been told of the sanctions up to that log index.
    public func sanctionsTold(through index: UInt64) async throws(ChatError) {
        _ = try await propose(.sanctionsTold(through: index), key: nil)
    }

    /// Puts a setting, of at most `SystemState.settingBytesMax` bytes, or removes it (nil).
    /// - Parameter key: as in `revoke`.
    public func put(_ value: [UInt8]?, for name: SettingName, key: String? = nil) async throws(ChatError) {
        guard case .done = try await propose(.put(setting: name, value: value), key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
    }

    /// Changes which nodes the cluster consists of.
    /// - Parameter key: as in `revoke`.
    /// - Throws: 404 for a node that there is not, 409 for the last node that holds rooms or too many nodes, 413.
    public func changeNodes(_ change: NodeChange, key: String? = nil) async throws(ChatError) {
        guard case .done = try await propose(change.command, key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
    }

    /// Raises the cluster's feature level; where it is that already, nothing changes.
    /// - Parameters:
    ///   - stores: of the nodes that have said that they can do it.
    ///   - key: as in `revoke`.
    /// - Throws: 409 when other nodes are listed meanwhile.
    public func raise(to level: FeatureLevel, stores: [UInt64], key: String? = nil) async throws(ChatError) {
        guard case .done = try await propose(.raiseLevel(level, stores: stores), key: key) else {
            throw ChatError(.conflict, "this Idempotency-Key was used for another call")
        }
    }

    /// A change of the list of nodes.
    public enum NodeChange: Sendable, Hashable {
        case add(NodeRecord)
        /// - Parameter certificate: as in `SystemCommand.removeNode`.
        case remove(NodeID, certificate: [UInt8]?)
        case readmit(NodeID)
        case setDraining(NodeID, Bool)

        var command: SystemCommand {
            switch self {
            case .add(let record): .addNode(record)
            case .remove(let node, let certificate): .removeNode(node, certificate: certificate)
            case .readmit(let node): .readmitNode(node)
            case .setDraining(let node, let isDraining): .setDraining(node, isDraining)
            }
        }
    }

    /// Claims an idempotency key for a call whose work isn't in the log.
    /// - Returns: `.done` when the call may go on; for a repeat `.answered`, or `.begun` while nobody knows how the
    ///   first one ends.
    public func begin(_ key: String) async throws(ChatError) -> SystemResult { try await propose(.begin, key: key) }

    /// Keeps the answer of a call that has claimed its key; nil gives the key back, because nothing was done.
    public func finish(_ key: String, answer: [UInt8]?) async throws(ChatError) {
        _ = try await propose(.finish(answer: answer), key: key)
    }

    /// Uses a nonce: false when it was used within the last ten minutes, on whichever node.
    public func use(nonce: String) async throws(ChatError) -> Bool {
        if case .done = try await propose(.nonce, key: nonce) { true } else { false }
    }

    /// Proposes a command where the leader is, and returns when it is applied there and, unless this node is cut off,
    /// here.
    ///
    /// A leader that has died or stands still does not hold a change up for longer than an election takes: the next one
    /// gets it too. Both may apply it, so a command that must not be made twice has a key.
    func propose(_ command: SystemCommand, key: String? = nil) async throws(ChatError) -> SystemResult {
        let (start, key) = (ContinuousClock.now, key ?? command.ownKey())
        /// A leader was given the command and has not said what became of it.
        var unanswered: ChatError?
        while true {
            let (outcome, leadership) = await proposeHere(command, key: key)
            switch outcome {
            case .success(let applied): return try Self.certain(applied.result, of: command, unanswered)
            case .failure(.failed(let error)): throw error
            case .failure(.notLeader): break
            }
            if let leader = leadership.leader.flatMap({ NodeID($0) }), leader.text != server.node {
                switch await forwarded(command, key, to: leader, under: leadership) {
                case .applied(let result, let index):
                    await whenApplied(index)
                    return try Self.certain(result, of: command, unanswered)
                case .refused(let error):
                    // Refused there without effect: it does not lead either.
                    guard error.code == .unavailable, error.field == ChatError.leaderField else { throw error }
                case .unanswered(let error):
                    guard command.mayBeGivenAgain else { throw error }
                    unanswered = error
                case .unsent(let error):
                    // It may be reached again while it leads on.
                    guard await !change(of: leadership, until: min(start + Self.leaderless, .now + Self.answerUsual))
                    else { continue }
                    guard .now < start + Self.leaderless else { throw unanswered ?? error }
                    continue
                }
            }
            let deadline = start + (unanswered == nil ? Self.leaderless : Self.silence)
            guard await change(of: leadership, until: deadline) else {
                throw unanswered
                    ?? ChatError(.unavailable, "the system group has no leader at the moment", retryAfterMs: 500)
            }
        }
    }

    /// - Throws: 503 where the call may have claimed at a leader that did not answer what it finds claimed now.
    private static func certain(
        _ result: SystemResult, of command: SystemCommand, _ unanswered: ChatError?
    ) throws(ChatError) -> SystemResult {
        if let unanswered, command.claimsItsKey, case .begun = result { throw unanswered }
        return result
    }

    /// Takes a command to the leader, and returns what it answers, or that it does not once another node leads.
    private func forwarded(
        _ command: SystemCommand, _ key: String?, to leader: NodeID, under leadership: SystemLeadership
    ) async -> ForwardOutcome {
        let first = FirstOutcome()
        let answer = Task { [forward] in first.end(await forward(command, key, leader)) }
        let watch = Task { [self] in
            // Most answers are here by then.
            guard command.mayBeGivenAgain, (try? await Task.sleep(for: Self.answerUsual)) != nil else { return }
            let hasChanged = await whenSettled { system in
                if first.hasEnded { return false }
                return system.host.leadership(of: system.log).isWorthAnotherTry(after: leadership) ? true : nil
            }
            guard hasChanged else { return }
            // A claim can't be told from another's when it is made again, and a leader that only hands over answers soon.
            if command.claimsItsKey { try? await Task.sleep(for: Self.answerOfFormer) }
            let reason = "\(leader) led the system group and does not answer"
            first.end(.unanswered(ChatError(.unavailable, reason, retryAfterMs: 500)))
        }
        let outcome = await first.value()
        watch.cancel()
        answer.cancel()
        return outcome
    }

    /// A command that another node has passed on. Throws 503 with the field `leader` where this node does not lead.
    ///
    /// A leader that can't propose yet waits for that or for its end, since the other node hears of neither before there
    /// is another leader.
    public func performForwarded(_ command: SystemCommand, key: String?) async throws(ChatError) -> (
        SystemResult, index: UInt64
    ) {
        let deadline = ContinuousClock.now + Self.leaderless
        while true {
            let (outcome, leadership) = await proposeHere(command, key: key)
            switch outcome {
            case .success(let applied): return (applied.result, applied.index)
            case .failure(.failed(let error)): throw error
            case .failure(.notLeader): break
            }
            let isHere = leadership.leader == server.node
            guard isHere, await change(of: leadership, until: deadline) else {
                throw ChatError(
                    .unavailable, "this node does not lead the system group", retryAfterMs: 500,
                    field: ChatError.leaderField)
            }
        }
    }

    /// Waits until there is another leader than formerly, or this node can propose that could not.
    /// - Returns: false when that has not come about by the deadline.
    private func change(of former: SystemLeadership, until deadline: ContinuousClock.Instant) async -> Bool {
        await whenSettled { system in
            if system.host.leadership(of: system.log).isWorthAnotherTry(after: former) { return true }
            return ContinuousClock.now >= deadline ? false : nil
        }
    }

    /// How long a change waits for a leader.
    private static let leaderless = Duration.seconds(2)
    /// The same from the change's begin on where a leader has not answered: as long as a link to a silent node lasts.
    private static let silence = Duration.seconds(5)
    /// For so long nobody looks whether another node leads, or a leader is reached again.
    private static let answerUsual = Duration.milliseconds(200)
    /// For so long a claim waits for the word of a leader that leads no more.
    private static let answerOfFormer = Duration.seconds(1)

    /// - Returns: the outcome, and the leadership before the attempt.
    private func proposeHere(_ command: SystemCommand, key: String?) async -> (
        Result<SystemHost.Applied, SystemHost.Failure>, SystemLeadership
    ) {
        let (loop, parts) = (loop, parts)
        return await withCheckedContinuation { continuation in
            loop.execute {
                guard let system = parts.value else {
                    let error = ChatError(.unavailable, "the node is starting", retryAfterMs: 500)
                    return continuation.resume(returning: (.failure(.failed(error)), SystemLeadership(term: 0)))
                }
                let leadership = system.host.leadership(of: system.log)
                system.host.propose(command, key: key, to: system.log) {
                    continuation.resume(returning: ($0, leadership))
                }
            }
        }
    }

    /// Returns when this node has applied the log up to there, or after a while all the same.
    private func whenApplied(_ index: UInt64) async {
        let deadline = ContinuousClock.now + Self.leaderless
        let _: Bool = await whenSettled { system in
            system.log.appliedIndex >= index || ContinuousClock.now >= deadline ? true : nil
        }
    }
}

extension ChatError {
    /// The field of an error that only says that another node leads.
    fileprivate static let leaderField = "leader"
}
