import ChatModel
import Gateway
import NodeLinkCore
import RoomProtocol
import Synchronization

/// Sessions whose clients come back here.
extension ClusterNodes: SessionsElsewhere {
    private enum News: Sendable {
        case answered(NodeID, Result<NodeAnswer, ChatError>)
        /// The node that was asked first takes its time.
        case isLate
    }

    /// For so long the others are not asked.
    private static let birthplaceWait = Duration.milliseconds(500)

    /// Asks the node where the session began, which mostly holds it, and then all others at once.
    package func take(_ session: SessionID, for user: UserID?) async -> SessionSearch {
        let question = NodeQuestion.migrateSession(session, to: user)
        let (news, told) = AsyncStream<News>.makeStream()
        var (others, waiting, hasSilent) = (reached, 0, false)
        func ask(_ nodes: Set<NodeID>) {
            for node in nodes.sorted() {
                waiting += 1
                Task { told.yield(.answered(node, await result(of: question, node))) }
            }
        }
        if let birthplace = others.first(where: { session.isBorn(at: $0) }) {
            others.remove(birthplace)
            ask([birthplace])
            Task {
                try? await Task.sleep(for: Self.birthplaceWait)
                told.yield(.isLate)
            }
        } else {
            ask(others)
            others = []
        }
        guard waiting > 0 else { return unlessLost(hasSilent) }
        for await item in news {
            if case .answered(let node, let result) = item {
                waiting -= 1
                switch result {
                case .success(.session(let handed)): return .found(from: node, handed)
                case .failure(let error) where error.code != .notFound: hasSilent = true
                default: break
                }
            }
            ask(others)
            others = []
            // One at most holds it.
            if waiting == 0 { break }
        }
        return unlessLost(hasSilent)
    }

    private func unlessLost(_ hasSilent: Bool) -> SessionSearch {
        hasSilent || sessionHolders.withLock { $0.mayBeLost(at: .now) } ? .unreached : .nobody
    }

    package func tookOver(_ session: TakenSession) {
        sessionHolders.withLock { $0.take(session, at: .now) }
        for node in reached { router.send(.takenOver([session]), on: .publications, to: node) }
    }

    package var others: Set<NodeID> { reached }

    package func notify(_ news: DeviceNews, to node: NodeID) async -> Result<DeviceNews, ChatError> {
        switch await result(of: .devices(news), node) {
        case .success(.devices(let answer)): return .success(answer)
        case .success: return .failure(ChatError(.internal, "the answer is to another question"))
        case .failure(let error): return .failure(error)
        }
    }

    /// The sessions that this node has taken up since that one was lost.
    func taken(since node: NodeID) -> [TakenSession] { sessionHolders.withLock { $0.taken(since: node) } }
}
