import ChatModel
import ClusterRouting
import Cryptography
import FoundationEssentials
import Gateway
import Glibc
import Logging
import RoomProtocol
import ServerAPI
import Wire

/// The rooms of the demo (PROTOCOL.md, "The demo"). A room is the demo's if its creator is: rooms of an app stay closed to
/// people who have no token of it. All goes through the calls of the server API.
final class DemoRooms: DemoService {
    private static let roomsMax = 100
    private static let pagesMax = 10
    private static let tokenSeconds: Int64 = 3600
    private static let hostPrefix = "demo-host-"
    private static let roomPrefix = "demo-"
    private static let nameBytes = 4
    /// The answer is on its way by then.
    private static let killDelay = Duration.milliseconds(100)

    private let service: NodeService
    private let killFile: String?
    private let nodes: @Sendable () -> Int
    private let logger: Logger

    init(service: NodeService, killFile: String?, nodes: @escaping @Sendable () -> Int, logger: Logger) {
        self.service = service
        self.killFile = killFile
        self.nodes = nodes
        self.logger = logger
    }

    func enter(_ room: RoomID?) async throws(ChatError) -> DemoPlace {
        if let room {
            // Under any other name an app may have a room, or one that it wants back.
            guard Self.isOfDemo(room) else { throw Self.notOfDemo(room) }
            if let found = try await find(room) {
                guard Self.isOfDemo(found), !found.info.closed else { throw Self.notOfDemo(room) }
                return try await place(in: room, host: nil)
            }
        }
        try await makeSpace()
        let name = room ?? RoomID(Self.roomPrefix + Self.random(Self.nameBytes))
        guard let name, let host = UserID(Self.hostPrefix + Self.random(4)) else {
            throw ChatError(.internal, "no name for a room")
        }
        var set = RoomChanges()
        set.name = "Demo"
        set.queueLevel = .owner
        _ = try await service.perform(.createRoom(creator: host, set: set), in: name, as: .system, id: nil)
        return try await place(in: name, host: host)
    }

    private static func notOfDemo(_ room: RoomID) -> ChatError {
        ChatError(.notFound, "\(room) is not a room of the demo", field: "room")
    }

    /// `demo-` and eight hexadecimal digits.
    private static func isOfDemo(_ room: RoomID) -> Bool {
        let digits = room.text.utf8.dropFirst(roomPrefix.utf8.count)
        return room.text.hasPrefix(roomPrefix) && digits.count == 2 * nameBytes
            && digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
    }

    private static func isOfDemo(_ view: RoomView) -> Bool {
        isOfDemo(view.info.id) && view.info.creator.text.hasPrefix(hostPrefix)
    }

    private func find(_ room: RoomID) async throws(ChatError) -> RoomView? {
        do throws(ChatError) {
            return try await service.room(room)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
    }

    /// The oldest room in which nobody is goes when there are as many as there may be. They are listed each time: other
    /// nodes make some too.
    private func makeSpace() async throws(ChatError) {
        var found: [RoomView] = []
        var after = RoomID(Self.roomPrefix)
        // Rooms of the demo lie together, but an app may call its own so, too.
        for _ in 0..<Self.pagesMax {
            let page = try await service.rooms(after: after, limit: Self.roomsMax)
            found += page.items.filter(Self.isOfDemo)
            guard found.count < Self.roomsMax, let next = page.next, next.text.hasPrefix(Self.roomPrefix) else { break }
            after = next
        }
        guard found.count >= Self.roomsMax else { return }
        guard let oldest = found.filter({ $0.online == 0 }).min(by: { $0.info.createdAt < $1.info.createdAt }) else {
            throw ChatError(.tooOften, "all \(Self.roomsMax) rooms of the demo are in use", retryAfterMs: 60_000)
        }
        _ = try await service.perform(.purgeRoom, in: oldest.info.id, as: .system, id: nil)
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
