import ChatModel
import NodeLink
import NodeLinkCore
import RoomProtocol
import Rooms
import Synchronization
import SystemGroupHost
import Wire

/// The nodes of the cluster as whoever asks them sees them: this one, and those that are reached.
package final class ClusterNodes: Sendable {
    package let node: NodeID
    let router: ClusterRouter
    package let questions = NodeQuestions()
    private let answering = Mutex(Answering())
    private let reachedNodes = Mutex<Set<NodeID>>([])
    private let arrivalCounts = Mutex<[NodeID: UInt64]>([:])
    private let owed = Mutex(OwedQuestions())
    let sessionHolders: Mutex<SessionHolders>

    /// Answers questions to this node.
    package typealias Answers = @Sendable (NodeQuestion) async -> Result<NodeAnswer, ChatError>

    /// A mutex that holds a function by itself wraps it into another one with every look at it (tools/mutexes).
    private struct Answering: Sendable {
        var answers: Answers?
    }

    /// - Parameter grace: how long a session outlives its connection.
    package init(_ router: ClusterRouter, grace: Duration) {
        self.router = router
        sessionHolders = Mutex(SessionHolders(grace: grace, begunAt: .now))
        node = router.node
    }

    /// From here on this node answers too.
    package func use(_ answers: @escaping Answers) { answering.withLock { $0.answers = answers } }

    func note(_ node: NodeID, isReached: Bool) {
        if isReached { arrivalCounts.withLock { $0[node, default: 0] += 1 } }
        reachedNodes.withLock {
            if isReached { $0.insert(node) } else { $0.remove(node) }
        }
        if isReached { askOwed(of: node) } else { sessionHolders.withLock { $0.lose(node, at: .now) } }
    }

    /// Other nodes that are reached.
    package var reached: Set<NodeID> { reachedNodes.withLock { $0 } }

    /// How often each other node has been connected: a number that changes shows a node that was away, however shortly.
    package var arrivals: [NodeID: UInt64] { arrivalCounts.withLock { $0 } }

    /// The certificate with which another node has proved itself last.
    package func certificate(of other: NodeID) async -> LinkCertificate? { await router.certificate(of: other) }

    package func answer(_ question: NodeQuestion) async -> Result<NodeAnswer, ChatError> {
        guard let answers = answering.withLock({ $0.answers }) else {
            return .failure(ChatError(.unavailable, "\(node) is starting", retryAfterMs: 500))
        }
        return await answers(question)
    }

    /// Asks one node, maybe this one.
    package func ask(_ other: NodeID, _ question: NodeQuestion) async throws(ChatError) -> NodeAnswer {
        guard other != node else { return try await answer(question).get() }
        do throws(QuestionFailure) {
            return try await put(question, to: other)
        } catch {
            throw error.error
        }
    }

    /// Puts a question to another node.
    private func put(_ question: NodeQuestion, to other: NodeID) async throws(QuestionFailure) -> NodeAnswer {
        guard reached.contains(other) else {
            throw QuestionFailure(
                ChatError(.unavailable, "\(other) can't be reached", retryAfterMs: 1000), .unsent)
        }
        return try await questions.ask(question, other) { router.send($0, on: .calls, to: other) }
    }

    /// Asks this node and all that are reached, all at once. Nodes that do not answer are left out.
    package func askAll(_ question: NodeQuestion) async -> [(node: NodeID, answer: NodeAnswer)] {
        await results(of: question).compactMap { node, result in
            if case .success(let answer) = result { (node, answer) } else { nil }
        }
    }

    /// The same with what kept each from answering.
    package func results(of question: NodeQuestion) async -> [(node: NodeID, result: Result<NodeAnswer, ChatError>)] {
        await results(of: question, reached.union([node]))
    }

    private func results(
        of question: NodeQuestion, _ nodes: Set<NodeID>
    ) async -> [(node: NodeID, result: Result<NodeAnswer, ChatError>)] {
        // Tasks of their own: a group's end raced with its last child's in the runtime ("pure virtual method called").
        let questions = nodes.sorted().map { other in
            (other, Task { [self] in await result(of: question, other) })
        }
        var all: [(NodeID, Result<NodeAnswer, ChatError>)] = []
        for (other, task) in questions { all.append((other, await task.value)) }
        return all
    }

    func result(of question: NodeQuestion, _ other: NodeID) async -> Result<NodeAnswer, ChatError> {
        do throws(ChatError) {
            return .success(try await ask(other, question))
        } catch {
            return .failure(error)
        }
    }

    /// The counts that all nodes answer, together.
    package func sum(_ question: NodeQuestion) async -> NodesSum { NodesSum(await askAll(question)) }

    /// The same of a question that ends something everywhere: one of the listed nodes that does not answer is asked again when
    /// it is reached, for ``OwedQuestions/life`` at most.
    package func sum(_ question: NodeQuestion, ofEvery listed: [NodeID]) async -> NodesSum {
        let before = arrivals
        let answers = await askAll(question)
        let sum = NodesSum(answers)
        let silent = listed.filter { $0 != node && !sum.answered.contains($0) }
        owed.withLock { for other in silent { $0.add(question, to: other, at: .now) } }
        // It may have come back before it was owed something.
        for other in silent where arrivals[other] != before[other] { askOwed(of: other) }
        return sum
    }

    private func askOwed(of other: NodeID) {
        let rest = owed.withLock { $0.take(of: other, at: .now) }[...]
        guard !rest.isEmpty else { return }
        Task { [rest] in
            var rest = rest
            while let next = rest.first {
                // A node that does not answer one is asked no other before it is reached again.
                guard case .success = await result(of: next.question, other) else { break }
                rest.removeFirst()
            }
            let unanswered = rest
            if !unanswered.isEmpty { owed.withLock { $0.putBack(unanswered, to: other) } }
        }
    }

    // MARK: - Leaders

    package func leader(of shard: ShardID) -> KnownLeader { router.leaders.leader(of: shard) }

    /// Returns when a leader of the shard has become known since `former` was read, at the latest at `deadline`.
    package func leaderChange(of shard: ShardID, since former: KnownLeader, until deadline: ContinuousClock.Instant)
        async
    {
        await router.leaders.change(of: shard, since: former, until: deadline)
    }

    /// The leaders of all shards that have a known one.
    package var leaders: [ShardID: NodeID] { router.leaders.all }

    /// Takes a change of the system group to its leader.
    package func forward(_ command: SystemCommand, _ key: String?, to leader: NodeID) async -> ForwardOutcome {
        do throws(QuestionFailure) {
            guard case .applied(let result, let index) = try await put(.propose(command, key: key), to: leader) else {
                return .refused(ChatError(.internal, "the answer is to another question"))
            }
            return .applied(result, index: index)
        } catch {
            return switch error.fate {
            case .answered: .refused(error.error)
            case .unknown: .unanswered(error.error)
            case .unsent: .unsent(error.error)
            }
        }
    }
}

/// The counts that nodes have answered, together.
package struct NodesSum: Sendable {
    package private(set) var count = 0
    package private(set) var answered: Set<NodeID> = []

    init(_ answers: [(node: NodeID, answer: NodeAnswer)]) {
        for (node, answer) in answers {
            answered.insert(node)
            if case .count(let more) = answer { count += more }
        }
    }
}
