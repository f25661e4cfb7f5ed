import BotSwarmCore
import ChatModel
import ChatroomClient
import Foundation
import Synchronization

/// A room whose members use the SDK: they vote, report, and have messages held, and a manager decides, while something
/// happens to the cluster. What was acked is in the ledger of each part, and is compared with what the room tells at the end.
final class ModeratedRoom: Sendable {
    static let id = "moderated"
    static let path = "/v1/rooms/\(id)"

    let story: ClusterStory
    let manager: ChatroomClient
    let members: [ChatroomClient]
    private let target: SwarmTarget
    private let gateways: [String]

    let polls = Mutex(PollLedger())
    let held = Mutex(HeldLedger())
    let reports = Mutex(ReportLedger())
    let sanctions = Mutex(SanctionLedger())
    /// How often each member was shown each item.
    let shown = Mutex<[Int: [String: Int]]>([:])

    init(_ story: ClusterStory, _ target: SwarmTarget) {
        self.story = story
        self.target = target
        let gateways = (0..<story.plan.layout.nodes).map {
            "ws://\(story.cluster.address(of: $0)):\(SimulatedCluster.clientPort)/v1/ws"
        }
        self.gateways = gateways
        manager = Self.client("manager", target, gateways)
        members = (0..<3).map { Self.client("member-\($0)", target, gateways) }
    }

    private static func client(_ user: String, _ target: SwarmTarget, _ gateways: [String]) -> ChatroomClient {
        var configuration = ChatroomConfiguration(gateways: gateways)
        configuration.settings.retryCount = -1
        configuration.settings.reconnectMaxMilliseconds = 2_000
        // A user may report once in 10 s.
        configuration.settings.refusalWaitMilliseconds = 15_000
        configuration.tokenProvider = {
            guard let id = UserID(user), let signer = target.signer else { throw ClientError(.tokenUnavailable, user) }
            let now = Int64(Date().timeIntervalSince1970)
            return signer.token(for: id, issuedAt: now - 60, expiresAt: now + 86_400)
        }
        return ChatroomClient(configuration)
    }

    /// One of the SDK's clients.
    /// - Parameter node: the only one that it knows at first; nil: all.
    func client(_ user: String, at node: Int? = nil) -> ChatroomClient {
        Self.client(user, target, node.map { [gateways[$0]] } ?? gateways)
    }

    /// Makes the room and what is to be held in all rooms. False, and complained of, where that is refused.
    static func make(_ story: ClusterStory) async -> Bool {
        let words = #"{"words":[{"text":"\#(HeldLedger.word)","action":"HOLD"}],"holdSeconds":3600,"onExpiry":"DENY"}"#
        guard await story.asked("PUT", "/v1/moderation", words),
            await story.asked("POST", "/v1/rooms", #"{"id":"\#(id)","creator":"host"}"#)
        else { return false }
        return await story.asked("PUT", "\(path)/members/manager/role", #"{"role":"MANAGER"}"#)
    }

    /// Until bots have stopped.
    func run() async throws {
        for client in [manager] + members {
            let isIn: Void? = await answer("to enter the room") { () async throws(ClientError) in
                try await client.connect()
                _ = try await client.room(Self.id).enter()
            }
            guard isIn != nil else { return }
        }
        await listenForDenials()
        await listenForBarrage()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for part in [votes, holds, report, sanction, repeatWhenMuted, throwBarrage] {
                group.addTask { try await part() }
            }
            try await group.waitForAll()
        }
    }

    var isOver: Bool { story.isOver.withLock { $0 } }

    /// What the room tells is what was acked; asked when all faults are over.
    func judge() async throws {
        try await judgeHeld()
        await judgePolls()
        await judgeReports()
        try await judgeSanctions()
        await manager.close()
        for member in members { await member.close() }
    }

    /// Asks until it is answered; the SDK repeats what has got lost.
    /// - Returns: nil where it was refused, or never answered; both are complained of.
    func answer<Value: Sendable>(
        _ what: String, _ call: @escaping @Sendable () async throws(ClientError) -> Value
    ) async -> Value? {
        switch await outcome(what, call) {
        case .success(let value): return value
        case .failure(let refusal):
            if let refusal { story.complain(.refused, "\(what): \(refusal)") }
            return nil
        }
    }

    /// - Returns: the failure nil, which is complained of: there was no answer.
    func outcome<Value: Sendable>(
        _ what: String, _ call: @escaping @Sendable () async throws(ClientError) -> Value
    ) async -> Outcome<Value> {
        await withTaskGroup(of: Outcome<Value>?.self) { group in
            group.addTask {
                do throws(ClientError) { return .success(try await call()) } catch {
                    // Which is so when the limit cancels it.
                    return error.code == .cancelled ? nil : .failure(error)
                }
            }
            group.addTask {
                try? await Task.sleep(for: Self.answerTakes)
                return nil
            }
            let first = await group.next().flatMap { $0 }
            group.cancelAll()
            if let first { return first }
            story.complain(.notAcked, "\(what) has no answer after \(Self.answerTakes)")
            return .failure(nil)
        }
    }

    enum Outcome<Value: Sendable>: Sendable {
        case success(Value)
        case failure(ClientError?)
    }

    /// A client notices after 38 s that its node is there no more; then it goes to another one.
    private static let answerTakes = Duration.seconds(120)
}

extension ClientError {
    /// That of the server; 0 for what is none.
    var number: Int { refusal?.code.number ?? 0 }
}
