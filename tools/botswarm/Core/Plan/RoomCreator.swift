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
        var complaint = "no server"
        for server in servers {
            do {
                return try await post(server, Data(body), room)
            } catch {
                guard error.code == .unreachable else { throw error }
                complaint = error.message
            }
        }
        throw SwarmFailure(.unreachable, complaint)
    }

    private func post(_ server: String, _ body: Data, _ room: RoomID) async throws(SwarmFailure) {
        guard let url = URL(string: "http://\(server)/v1/rooms") else {
            throw SwarmFailure(.usage, "\(server) is not an address")
        }
        var request = URLRequest(url: url)
        request.httpMethod = "POST"
        request.httpBody = body
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("Bearer \(adminKey)", forHTTPHeaderField: "Authorization")
        request.setValue("botswarm-\(room)", forHTTPHeaderField: "Idempotency-Key")
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
                status == 503 ? .unreachable : .usage, "creating room \(room) at \(server) was answered \(status)")
        }
    }
}
