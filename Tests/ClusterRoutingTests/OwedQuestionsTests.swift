import ChatModel
import RoomProtocol
import Testing
import WaitTestKit

@testable import ClusterRouting

@Suite(.timeLimit(.minutes(1))) struct OwedQuestionsTests {
    private let here: NodeID
    private let other: NodeID
    private let user: UserID

    init() throws {
        here = try #require(NodeID("n1"))
        other = try #require(NodeID("n2"))
        user = try #require(UserID("wanda"))
    }

    @Test func `a node that could not be asked is asked when it is reached`() async throws {
        let nodes = ClusterNodes(ClusterRouter(node: here), grace: .zero)
        nodes.use { _ in .success(.count(2)) }
        #expect(await nodes.sum(.endSessions(of: user), ofEvery: [here, other]).count == 2)
        nodes.note(other, isReached: true)
        // The question is under way then, and the only one.
        try await poll("the question") { nodes.questions.end(1, .success(.count(1))) }
        nodes.note(other, isReached: false)
        nodes.note(other, isReached: true)
        // Nothing comes that could be waited for. A second question would be asked by a task that is there already.
        for _ in 0..<1_000 { await Task.yield() }
        #expect(!nodes.questions.end(2, .success(.count(0))), "it has answered")
    }

    @Test func `a node that does not answer again is owed it still`() async throws {
        let nodes = ClusterNodes(ClusterRouter(node: here), grace: .zero)
        nodes.use { _ in .success(.count(0)) }
        _ = await nodes.sum(.endSessions(of: user), ofEvery: [here, other])
        nodes.note(other, isReached: true)
        try await poll("the question") {
            nodes.questions.end(1, .failure(ChatError(.unavailable, "it went away")))
        }
        // It is owed again as soon as the failure is noted.
        try await poll("the question again") {
            if nodes.questions.end(2, .success(.count(1))) { return true }
            nodes.note(other, isReached: true)
            return false
        }
    }

    @Test func `questions come once, in their order, and not after their time`() {
        var owed = OwedQuestions()
        let now = ContinuousClock.now
        owed.add(.endSessions(of: user), to: other, at: now)
        owed.add(.status, to: other, at: now + .seconds(1))
        let taken = owed.take(of: other, at: now)
        #expect(taken.count == 2)
        owed.putBack(taken, to: other)
        #expect(owed.take(of: other, at: now + OwedQuestions.life).count == 1)
        #expect(owed.take(of: other, at: now + .seconds(2)).isEmpty)
        for _ in 0..<OwedQuestions.questionsMax + 5 { owed.add(.endSessions(of: user), to: other, at: now) }
        #expect(owed.take(of: other, at: now).count == OwedQuestions.questionsMax)
    }
}
