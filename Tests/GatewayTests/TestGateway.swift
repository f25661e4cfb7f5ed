import ChatModel
import EventLoop
import Logging
import RoomProtocol
import SessionCore
import ShardPlacement
import Telemetry
import Wire

@testable import Gateway

/// A gateway of one lane that nobody connects to.
enum TestGateway {
    /// Rooms that take everything and answer nothing.
    struct NoRooms: RoomRouter {
        func route(_ calls: [RoomRequest], to node: NodeID, from lane: Int) {}
        func ask(_ request: TallyRequest, of node: NodeID) {}
        func recount(_ recount: LaneRecount, at node: NodeID) {}
        func notify(_ uses: [UserUse]) {}
        func drop(_ node: NodeID) {}
        func reaches(_ node: NodeID) -> Bool { true }
    }

    private struct NoTokens: TokenVerifier {
        func verify(_ token: String, skewSeconds: Int64) async throws(ChatError) -> TokenClaims {
            throw ChatError(.unauthorized, "there are no tokens")
        }

        func isRevoked(_ user: UserID, issuedAt: Timestamp?) -> Bool { false }
    }

    /// A session's ID that no seal has made.
    static func session(_ number: UInt64, at node: NodeID) -> SessionID {
        let digits = String(number, radix: 16)
        return SessionID(
            secret: String(repeating: "0", count: SessionID.secretBytes - digits.count) + digits, at: node)
    }

    /// Runs the body with the gateway, whose wall clock stands still at 1000, and stops the gateway whatever the outcome.
    static func run(
        at node: NodeID, router: any RoomRouter = NoRooms(), _ body: (Gateway) async throws -> Void
    ) async throws {
        try await run(at: node, router: router) { gateway, _, _ in try await body(gateway) }
    }

    /// The same for a body that connects to the gateway: with its port and loop.
    static func run(
        at node: NodeID, router: any RoomRouter = NoRooms(), isCompressing: Bool = false,
        connectSeconds: Int64? = nil, graceSeconds: Int64? = nil, inflatedBytesPerSecond: Double? = nil,
        _ body: (Gateway, Int, EventLoop) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "gateway")
        loop.start()
        var configuration = GatewayConfiguration(node: node)
        configuration.port = 0
        configuration.isCompressing = isCompressing
        if let connectSeconds { configuration.connectSeconds = connectSeconds }
        if let graceSeconds { configuration.graceSeconds = graceSeconds }
        if let inflatedBytesPerSecond { configuration.inflatedBytesPerSecond = inflatedBytesPerSecond }
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let gateway = Gateway(
            configuration: configuration, loops: [loop], router: router, shardMap: ShardMap(shardCount: 1),
            verifier: NoTokens(), metrics: MetricsRegistry(), logger: logger, now: { Timestamp(1000) })
        let result: Result<Void, any Error>
        do {
            let port = try await gateway.start()
            result = .success(try await body(gateway, port, loop))
        } catch {
            result = .failure(error)
        }
        await gateway.drain(toOthers: false)
        await gateway.stop()
        loop.shutdown()
        await loop.joined()
        try result.get()
    }
}

extension Session {
    /// A session that another node has handed over to a lane, with full rates but for what it says.
    init(_ handed: HandedSession, id: SessionID, from node: NodeID, on lane: GatewayLane) {
        let limits = lane.configuration.rateLimits
        self.init(handed, id: id, from: node, rates: Rates(limits, nowMilliseconds: lane.loop.nowMilliseconds))
    }

    /// A session that begins on a lane, of a user who is not anonymous.
    init(id: SessionID, user: UserID, on lane: GatewayLane) {
        let limits = lane.configuration.rateLimits
        self.init(
            id: id, user: user, isAnonymous: false, encoding: .json, startedAt: Timestamp(1),
            rates: Rates(limits, nowMilliseconds: lane.loop.nowMilliseconds))
    }
}
