import ChatModel
import EventLoop
import HTTPClient
import Wire

/// Creates the rooms of a run through the server API, and gives gifts there. To be closed.
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
        try await call("POST", "/v1/rooms", body: body, what: "creating room \(room)", key: "botswarm-\(room)")
    }

    package func setManager(_ user: UserID, in room: RoomID) async throws(SwarmFailure) {
        try await call(
            "PUT", "/v1/rooms/\(room)/members/\(user)/role", body: Array(#"{"role":"MANAGER"}"#.utf8),
            what: "making \(user) a manager of \(room)", key: "botswarm-\(room)-\(user)")
    }

    // MARK: - Tallies

    package func makeTally(_ key: String, in room: RoomID) async throws(SwarmFailure) {
        try await call(
            "PUT", "/v1/rooms/\(room)/tallies/\(key)", body: Array(#"{"by":"SERVER"}"#.utf8),
            what: "making the tally \(key)",
            key: "botswarm-\(room)-\(key)")
    }

    /// Adds to a tally, once under its key.
    package func give(_ delta: Int64, to key: String, in room: RoomID, id: String) async throws(SwarmFailure) {
        try await call(
            "POST", "/v1/rooms/\(room)/tallies/\(key)/add", body: Array(#"{"delta":\#(delta)}"#.utf8), what: "a gift",
            key: id)
    }

    package func totals(of room: RoomID) async throws(SwarmFailure) -> [String: Int64] {
        let answer = try await call("GET", "/v1/rooms/\(room)/tallies", body: [], what: "reading tallies", key: nil)
        guard let result = try? WireJSON.decode(TalliesResult.self, from: answer, limits: false) else {
            throw SwarmFailure(.unreachable, "the tallies of \(room) can't be read")
        }
        return Dictionary(result.tallies.map { ($0.key, $0.total) }) { _, last in last }
    }

    // MARK: - Calls

    /// Tries one server after another.
    @discardableResult
    private func call(
        _ method: String, _ path: String, body: [UInt8], what: String, key: String?
    ) async throws(SwarmFailure) -> [UInt8] {
        var complaint = "no server"
        for server in servers {
            do {
                return try await send(method, server, path: path, body: body, what: what, key: key)
            } catch {
                guard error.code == .unreachable else { throw error }
                complaint = error.message
            }
        }
        throw SwarmFailure(.unreachable, complaint)
    }

    private func send(
        _ method: String, _ server: String, path: String, body: [UInt8], what: String, key: String?
    ) async throws(SwarmFailure) -> [UInt8] {
        var request = HTTPClientRequest(
            url: "http://\(server)\(path)", timeoutMilliseconds: Self.timeoutMilliseconds,
            answerBytesMax: Self.answerBytesMax)
        request.method = method
        request.body = body
        request.headers = [
            ("Content-Type", "application/json"), ("Authorization", "Bearer \(adminKey)"),
        ]
        if let key { request.headers.append(("Idempotency-Key", key)) }
        let (status, answer): (Int, [UInt8])
        do {
            let response = try await client.send(request)
            (status, answer) = (response.status, response.body)
        } catch {
            throw SwarmFailure(.unreachable, "the server API at \(server) can't be reached: \(error)")
        }
        guard (200..<300).contains(status) else {
            throw SwarmFailure(
                status == 503 ? .unreachable : .usage, "\(what) at \(server) was answered \(status)")
        }
        return answer
    }
}
