import ChatModel
import RoomLink
import Sharding
import Synchronization
import Testing

@testable import Rooms

/// What the server API asks of a leader on another node, when the first answer is an error.
@Suite(.timeLimit(.minutes(3))) struct RepeatedQuestionsTests {
    /// Another node leads, and answers from the second question on.
    private final class Elsewhere: RoomsElsewhere {
        let asked = Mutex<[RoomQuestion]>([])
        /// For which change of the leader was waited, and at most how long.
        let waits = Mutex<[(former: KnownLeader, limit: Duration)]>([])
        private let other: NodeID
        /// Of the first answer: whether the other node says that it does not lead.
        private let field: String?

        init(_ other: NodeID, field: String? = nil) {
            self.other = other
            self.field = field
        }

        var questions: [RoomQuestion] { asked.withLock { $0 } }

        func leader(of shard: ShardID) -> KnownLeader { KnownLeader(other, version: 1) }

        func leaderChange(of shard: ShardID, since former: KnownLeader, until deadline: ContinuousClock.Instant) async {
            waits.withLock { $0.append((former, deadline - .now)) }
        }

        func ask(_ node: NodeID, _ room: RoomID, _ question: RoomQuestion) async throws(ChatError) -> RoomAnswer {
            let count = asked.withLock { asked in
                asked.append(question)
                return asked.count
            }
            guard count > 1 else {
                throw ChatError(.unavailable, "\(node) can't be reached", retryAfterMs: 500, field: field)
            }
            return if case .barrage = question { .done } else { .command(.done) }
        }
    }

    private let room: RoomID
    private let other: NodeID
    private let item = BarrageItem(from: nil, text: "once", time: Timestamp(1))

    init() throws {
        room = try #require(RoomID("r"))
        other = try #require(NodeID("n2"))
    }

    private func host(_ elsewhere: Elsewhere) throws -> RoomHost {
        RoomHost(
            node: try #require(NodeID("n1")), loops: [], shardMap: ShardMap(shardCount: 1), storages: [],
            elsewhere: elsewhere)
    }

    @Test func `barrage that may have been shown is not sent again`() async throws {
        let elsewhere = Elsewhere(other)
        let host = try host(elsewhere)
        var refusal: ChatError?
        do throws(ChatError) {
            try await host.barrage(item, in: room)
        } catch {
            refusal = error
        }
        #expect(refusal?.code == .unavailable)
        #expect(elsewhere.questions == [.barrage(item)])
    }

    @Test func `barrage that a node has refused because it does not lead is sent again`() async throws {
        let elsewhere = Elsewhere(other, field: ChatError.leaderField)
        let host = try host(elsewhere)
        try await host.barrage(item, in: room)
        #expect(elsewhere.questions == [.barrage(item), .barrage(item)])
    }

    @Test func `between two questions it waits for a leader, as long as the refusal says`() async throws {
        let elsewhere = Elsewhere(other, field: ChatError.leaderField)
        try await host(elsewhere).barrage(item, in: room)
        let waits = elsewhere.waits.withLock { $0 }
        #expect(waits.map(\.former) == [KnownLeader(other, version: 1)])
        #expect(waits.allSatisfy { $0.limit <= .milliseconds(500) && $0.limit > .milliseconds(400) })
    }

    @Test func `a command is asked for again under the same ID`() async throws {
        let elsewhere = Elsewhere(other)
        let host = try host(elsewhere)
        _ = try await host.perform(.muteRoom(enable: true, NotifyOptions()), in: room, as: .system, id: nil)
        let questions = elsewhere.questions
        #expect(questions.count == 2 && questions.first == questions.last)
    }
}
