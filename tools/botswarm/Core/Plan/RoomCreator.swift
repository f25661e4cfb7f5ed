import ChatModel
import Foundation
import Wire

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Creates the rooms of a run through the server API.
package struct RoomCreator: Sendable {
    private let servers: [String]
    private let adminKey: String
    private let session: URLSession

    private static let timeoutSeconds = 15.0

    package init(servers: [String], adminKey: String) {
        self.servers = servers
        self.adminKey = adminKey
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = Self.timeoutSeconds
        configuration.httpShouldSetCookies = false
        session = URLSession(configuration: configuration)
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
        try await call("POST", "/v1/rooms", Data(body), "creating room \(room)", key: "botswarm-\(room)")
    }

    package func setManager(_ user: UserID, in room: RoomID) async throws(SwarmFailure) {
        try await call(
            "PUT", "/v1/rooms/\(room)/members/\(user)/role", Data(#"{"role":"MANAGER"}"#.utf8),
            "making \(user) a manager of \(room)", key: "botswarm-\(room)-\(user)")
    }

    /// Tries one server after another.
    private func call(
        _ method: String, _ path: String, _ body: Data, _ what: String, key: String
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
        _ method: String, _ server: String, _ path: String, _ body: Data, _ what: String, _ key: String
    ) async throws(SwarmFailure) {
        guard let url = URL(string: "http://\(server)\(path)") else {
            throw SwarmFailure(.usage, "\(server) is not an address")
        }
        var request = URLRequest(url: url)
        request.httpMethod = method
        request.httpBody = body
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("Bearer \(adminKey)", forHTTPHeaderField: "Authorization")
        request.setValue(key, forHTTPHeaderField: "Idempotency-Key")
        let answer: (Data, URLResponse)
        do {
            answer = try await session.data(for: request)
        } catch {
            throw SwarmFailure(.unreachable, "the server API at \(server) can't be reached")
        }
        guard let status = (answer.1 as? HTTPURLResponse)?.statusCode else {
            throw SwarmFailure(.unreachable, "\(server) does not speak HTTP")
        }
        guard (200..<300).contains(status) else {
            throw SwarmFailure(
                status == 503 ? .unreachable : .usage, "\(what) at \(server) was answered \(status)")
        }
    }
}
