import ChatModel
import ClusterRouting
import Cryptography
import FoundationEssentials
import Gateway
import Glibc
import Logging
import RoomProtocol
import ServerAPI
import Synchronization
import Wire

/// The rooms of the demo (PROTOCOL.md, "The demo"). A room is the demo's if its creator is: rooms of an app stay closed to
/// people who have no token of it. All goes through the calls of the server API.
final class DemoRooms: DemoService {
    private static let roomsMax = 100
    private static let tokenSeconds: Int64 = 3600
    private static let hostPrefix = "demo-host-"
    private static let roomPrefix = "demo-"
    /// The answer is on its way by then.
    private static let killDelay = Duration.milliseconds(100)

    private let service: NodeService
    private let killFile: String?
    private let nodes: @Sendable () -> Int
    private let logger: Logger
    /// Those that this node has made and found, oldest first.
    private let made = Mutex<[RoomID]>([])

    init(service: NodeService, killFile: String?, nodes: @escaping @Sendable () -> Int, logger: Logger) {
        self.service = service
        self.killFile = killFile
        self.nodes = nodes
        self.logger = logger
    }

    func enter(_ room: RoomID?) async throws(ChatError) -> DemoPlace {
        if let room, let found = try await find(room) {
            guard found.info.creator.text.hasPrefix(Self.hostPrefix), !found.info.closed else {
                throw ChatError(.notFound, "\(room) is not a room of the demo", field: "room")
            }
            return try await place(in: room, host: nil)
        }
        try await makeSpace()
        let name = room ?? RoomID(Self.roomPrefix + Self.random(4))
        guard let name, let host = UserID(Self.hostPrefix + Self.random(4)) else {
            throw ChatError(.internal, "no name for a room")
        }
        var set = RoomChanges()
        set.name = "Demo"
        set.queueLevel = .owner
        _ = try await service.perform(.createRoom(creator: host, set: set), in: name, as: .system, id: nil)
        made.withLock { $0.append(name) }
        return try await place(in: name, host: host)
    }

    private func find(_ room: RoomID) async throws(ChatError) -> RoomView? {
        do throws(ChatError) {
            return try await service.room(room)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    /// The oldest room in which nobody is goes when there are as many as there may be.
    private func makeSpace() async throws(ChatError) {
        if made.withLock({ $0.isEmpty }) { try await findMade() }
        guard made.withLock({ $0.count }) >= Self.roomsMax else { return }
        for room in made.withLock({ $0 }) {
            let view = try await find(room)
            guard view.map({ $0.online == 0 }) ?? true else { continue }
            if view != nil { _ = try await service.perform(.purgeRoom, in: room, as: .system, id: nil) }
            return made.withLock { $0.removeAll { $0 == room } }
        }
        throw ChatError(.tooOften, "all \(Self.roomsMax) rooms of the demo are in use", retryAfterMs: 60_000)
    }

    /// Rooms of the demo from before this node began, and from other nodes.
    private func findMade() async throws(ChatError) {
        let page = try await service.rooms(after: RoomID(Self.roomPrefix), limit: Self.roomsMax)
        let found = page.items.filter {
            $0.info.id.text.hasPrefix(Self.roomPrefix) && $0.info.creator.text.hasPrefix(Self.hostPrefix)
        }.sorted { $0.info.createdAt < $1.info.createdAt }
        made.withLock { $0 += found.map(\.info.id) }
    }

    private func place(in room: RoomID, host: UserID?) async throws(ChatError) -> DemoPlace {
        let number = Self.random(4)
        guard let guest = UserID("demo-guest-\(number)") else { throw ChatError(.internal, "no name for a guest") }
        var hostToken: String?
        if let host { hostToken = try await token(of: host, nick: "Host", in: room) }
        return DemoPlace(
            room: room, token: try await token(of: guest, nick: "Guest \(number.prefix(4))", in: room),
            hostToken: hostToken, gateways: await service.gateway.urls())
    }

    private func token(of user: UserID, nick: String, in room: RoomID) async throws(ChatError) -> String {
        var request = TokenRequest(user: user)
        request.ttlSeconds = Self.tokenSeconds
        request.rooms = [room]
        request.nick = nick
        return try await service.issueToken(request).token
    }

    func figures() async -> DemoFigures {
        let own = service.configuration.node
        var figures = NodeFigures(node: own)
        if case .success(let answer) = await service.nodes.answer(.figures), case .figures(let told) = answer {
            figures = told
        }
        return DemoFigures(figures: figures, nodes: Int64(nodes()), kill: killFile != nil)
    }

    func kill() throws(ChatError) {
        guard let killFile, FileManager.default.createFile(atPath: killFile, contents: nil) else {
            throw ChatError(.notFound, "nothing would start this node again")
        }
        logger.warning("the demo kills this node")
        Task {
            try? await Task.sleep(for: Self.killDelay)
            Glibc.kill(getpid(), SIGKILL)
        }
    }

    private static func random(_ bytes: Int) -> String { Hexadecimal.encode(SecureRandom.bytes(bytes)) }
}
