import ChatModel
import Gateway
import RoomProtocol
import Testing
import WaitTestKit

@testable import ClusterRouting

/// A session whose holder is looked for among the other nodes. Nothing is sent here: the test answers for them.
@Suite(.timeLimit(.minutes(3))) struct SessionsElsewhereTests {
    private let nodes: ClusterNodes
    private let birthplace: NodeID
    private let others: [NodeID]
    private let session: SessionID
    private let handed: HandedSession
    private let notHere = Result<NodeAnswer, ChatError>.failure(ChatError(.notFound, "not here"))

    init() throws {
        nodes = ClusterNodes(ClusterRouter(node: try #require(NodeID("n1"))), grace: .zero)
        birthplace = try #require(NodeID("n2"))
        others = [try #require(NodeID("n3")), try #require(NodeID("n4"))]
        session = SessionID(secret: String(repeating: "1", count: SessionID.secretBytes), at: birthplace)
        handed = HandedSession(
            user: try #require(UserID("wanda")), anonymous: false, device: .web, startedAt: Timestamp(1))
    }

    /// Begins to look for the session among `reached`.
    private func take(among reached: [NodeID]) -> Task<SessionSearch, Never> {
        for node in reached { nodes.note(node, isReached: true) }
        return Task { [nodes, session] in await nodes.take(session, for: nil) }
    }

    /// Answers a question as soon as somebody waits for that. They are numbered from 1.
    private func answer(_ id: UInt64, _ result: Result<NodeAnswer, ChatError>) async throws {
        try await poll("question \(id)") { nodes.questions.end(id, result) }
    }

    @Test func `a holder that is late has not given the session up for nothing`() async throws {
        let taken = take(among: [birthplace, others[0]])
        // Asked because the holder is late.
        try await answer(2, notHere)
        try await answer(1, .success(.session(handed)))
        #expect(await taken.value == .found(from: birthplace, handed))
        // And the question waits for long after that.
        #expect(NodeQuestions.limit(of: .migrateSession(session, to: nil)) >= .seconds(10))
    }

    @Test func `when the link to its birthplace ends, the others are asked`() async throws {
        let taken = take(among: [birthplace, others[0]])
        // Until the question has been asked, its end is no news.
        try await poll("the question to the birthplace") { nodes.questions.onNodeLost(birthplace) }
        try await answer(2, .success(.session(handed)))
        #expect(await taken.value == .found(from: others[0], handed))
    }

    @Test func `once a node has given the session up, one that hangs is not waited for`() async throws {
        let taken = take(among: others)
        try await answer(1, .success(.session(handed)))
        // Both are asked at once, so either may have the first question.
        let search = await taken.value
        #expect(others.contains { search == .found(from: $0, handed) })
        // The other's question is open still.
        try await answer(2, notHere)
    }

    @Test func `a session that nobody holds is not found`() async throws {
        let taken = take(among: [birthplace, others[0]])
        try await answer(1, notHere)
        try await answer(2, notHere)
        #expect(await taken.value == .nobody)
    }

    @Test func `a session whose holder does not answer may be its client's all the same`() async throws {
        let taken = take(among: [birthplace, others[0]])
        try await answer(1, .failure(ChatError(.unavailable, "n2 does not answer")))
        try await answer(2, notHere)
        #expect(await taken.value == .unreached)
    }

    @Test func `nobody waits for long for the others because the birthplace hangs`() async throws {
        let taken = take(among: [birthplace, others[0]])
        // Nothing answers the first question until the second has been asked.
        try await answer(2, .success(.session(handed)))
        #expect(await taken.value == .found(from: others[0], handed))
        try await answer(1, notHere)
    }
}
