import ChatModel
import EventLoop
import HTTPClient
import Wire

/// Creates the rooms of a run through the server API. To be closed.
package struct RoomCreator: Sendable {
    private let servers: [String]
    private let adminKey: String
    private let loop: EventLoop
    private let client: HTTPClient

    private static let timeoutMilliseconds: Int64 = 15_000
    private static let answerBytesMax = 1 << 20

    package init(servers: [String], adminKey: String) throws(SwarmFailure) {
        self.servers = servers
        self.adminKey = adminKey
        do {
            loop = try EventLoop(name: "calls")
        } catch {
            throw SwarmFailure(.usage, "\(error)")
        }
        loop.start()
        client = HTTPClient(loop: loop)
    }

    package func close() async {
        await client.shutdown()
        loop.shutdown()
        await loop.joined()
    }

    package func create(_ room: RoomID, creator: UserID, enterExitNotify: String?) async throws(SwarmFailure) {
        var set = RoomChanges()
        if let enterExitNotify {
            guard let level = EnterExitNotify(rawValue: enterExitNotify) else {
                throw SwarmFailure(.usage, "enter-exit-notify is ALL, FIXED_ONLY or NONE")
            }
            set.enterExitNotify = level
        }
        var body: [UInt8] = []
        WireJSON.append(CreateRoomRequest(id: room, creator: creator, set: set), to: &body)
        try await call("POST", "/v1/rooms", body, "creating room \(room)", key: "botswarm-\(room)")
    }

    package func setManager(_ user: UserID, in room: RoomID) async throws(SwarmFailure) {
        try await call(
            "PUT", "/v1/rooms/\(room)/members/\(user)/role", Array(#"{"role":"MANAGER"}"#.utf8),
            "making \(user) a manager of \(room)", key: "botswarm-\(room)-\(user)")
    }

    /// Tries one server after another.
    private func call(
        _ method: String, _ path: String, _ body: [UInt8], _ what: String, key: String
    ) async throws(SwarmFailure) {
        var complaint = "no server"
        for server in servers {
            do {
                return try await send(method, server, path, body, what, key)
            } catch {
                guard error.code == .unreachable else { throw error }
                complaint = error.message
            }
        }
        throw SwarmFailure(.unreachable, complaint)
    }

    private func send(
        _ method: String, _ server: String, _ path: String, _ body: [UInt8], _ what: String, _ key: String
    ) async throws(SwarmFailure) {
        var request = HTTPClientRequest(
            url: "http://\(server)\(path)", timeoutMilliseconds: Self.timeoutMilliseconds,
            answerBytesMax: Self.answerBytesMax)
        request.method = method
        request.body = body
        request.headers = [
            ("Content-Type", "application/json"), ("Authorization", "Bearer \(adminKey)"), ("Idempotency-Key", key),
        ]
        let status: Int
        do {
            status = try await client.send(request).status
        } catch {
            throw SwarmFailure(.unreachable, "the server API at \(server) can't be reached: \(error)")
        }
        guard (200..<300).contains(status) else {
            throw SwarmFailure(
                status == 503 ? .unreachable : .usage, "\(what) at \(server) was answered \(status)")
        }
    }
}
