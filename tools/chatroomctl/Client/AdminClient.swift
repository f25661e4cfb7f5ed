import FoundationEssentials
import Synchronization

/// One HTTP request of the admin tool.
package struct HTTPCall: Sendable, Hashable {
    package var method = "GET"
    /// Percent-encoded path and query.
    package var target: String
    package var headers: [String: String] = [:]
    package var body: Data?
    /// How long the answer may take.
    package var timeoutSeconds = NetworkTransport.timeoutSeconds

    package init(
        method: String = "GET", target: String, headers: [String: String] = [:], body: Data? = nil,
        timeoutSeconds: Int64 = NetworkTransport.timeoutSeconds
    ) {
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.timeoutSeconds = timeoutSeconds
    }
}

package struct HTTPAnswer: Sendable, Hashable {
    package var status: Int
    package var body: Data
}

/// Why a call got no answer.
package struct HTTPFailure: Error, Sendable, Hashable {
    /// Nothing was sent: the same call to another node cannot do anything twice.
    package var nothingSent: Bool
    package var message: String
}

/// The transport of calls to a server.
package protocol HTTPTransport: Sendable {
    func send(_ call: HTTPCall, to server: String) async throws(HTTPFailure) -> HTTPAnswer
}

/// Calls of the server API, to whichever node of the cluster answers.
package struct AdminClient: Sendable {
    package let target: Target
    package let transport: any HTTPTransport
    /// The place of the server that answered last: the next call begins there, and does not wait again for a dead one.
    private let answered = AnsweredPlace()

    package init(target: Target, transport: any HTTPTransport) {
        self.target = target
        self.transport = transport
    }

    /// - Parameters:
    ///   - path: the segments after `/v1`, not yet encoded.
    ///   - idempotencyKey: makes a changing call safe to repeat at another node.
    /// - Returns: the body of a 2xx.
    /// - Throws: `refused` with the server's words, or `unreachable` when no node answered.
    package func call(
        _ method: String, _ path: [String], query: [(String, String?)] = [], body: JSONTree? = nil,
        idempotencyKey: String? = nil, timeoutSeconds: Int64 = NetworkTransport.timeoutSeconds
    ) async throws(CommandFailure) -> JSONTree {
        try JSONTree(
            parsing: await answer(
                method, path, query: query, body: body, idempotencyKey: idempotencyKey, timeoutSeconds: timeoutSeconds))
    }

    /// The same with the answer's bytes as they are.
    package func answer(
        _ method: String, _ path: [String], query: [(String, String?)] = [], body: JSONTree? = nil,
        idempotencyKey: String? = nil, timeoutSeconds: Int64 = NetworkTransport.timeoutSeconds
    ) async throws(CommandFailure) -> Data {
        guard let key = target.adminKey else {
            throw CommandFailure(
                .usage,
                "no admin key: set \(Target.keyVariable), give --key-file FILE, or work below the directory of a "
                    + "cluster that cluster/up started")
        }
        var headers = ["Authorization": "Bearer \(key)"]
        headers["Idempotency-Key"] = idempotencyKey
        if body != nil { headers["Content-Type"] = "application/json" }
        let call = HTTPCall(
            method: method, target: Self.encode(["v1"] + path, query), headers: headers,
            body: body.map { Data($0.line.utf8) }, timeoutSeconds: timeoutSeconds)
        let answer = try await send(call, repeatable: method == "GET" || idempotencyKey != nil)
        guard (200..<300).contains(answer.status) else { throw Self.refusal(answer) }
        return answer.body
    }

    /// A call without authorization that answers text, such as `/healthz`.
    package func plain(
        _ path: String, of server: String, timeoutSeconds: Int64 = NetworkTransport.timeoutSeconds
    ) async throws(CommandFailure) -> HTTPAnswer {
        do {
            return try await transport.send(HTTPCall(target: path, timeoutSeconds: timeoutSeconds), to: server)
        } catch {
            throw CommandFailure(.unreachable, error.message)
        }
    }

    private func send(_ call: HTTPCall, repeatable: Bool) async throws(CommandFailure) -> HTTPAnswer {
        var complaints: [String] = []
        let first = min(answered.place, target.servers.count)
        let order = Array(target.servers.indices[first...]) + Array(target.servers.indices[..<first])
        for (turn, place) in order.enumerated() {
            let server = target.servers[place]
            var call = call
            // A node that stands still takes connections and says nothing. A question that another can be asked as well
            // does not wait long for it.
            if turn + 1 < order.count, call.method == "GET",
                call.timeoutSeconds == NetworkTransport.timeoutSeconds
            {
                call.timeoutSeconds = NetworkTransport.patienceSeconds
            }
            do {
                let answer = try await transport.send(call, to: server)
                answered.place = place
                return answer
            } catch {
                complaints.append(error.message)
                guard error.nothingSent || repeatable else {
                    throw CommandFailure(.unreachable, "\(error.message); the call may or may not have been done")
                }
            }
        }
        throw CommandFailure(
            .unreachable,
            complaints.joined(separator: "; ")
                + ". Start a cluster with cluster/up, or name a running one with --server host:port "
                + "or \(Target.serverVariable)")
    }

    /// The server's error as a sentence.
    package static func refusal(_ answer: HTTPAnswer) -> CommandFailure {
        guard let error = try? JSONTree(parsing: answer.body)["error"], let message = error["message"]?.text else {
            var text = "the server answered HTTP \(answer.status)"
            // The server API answers each call that it does not know with an error of its own.
            if answer.status == 404 {
                text +=
                    ": this is no server API, which has a port of its own (api.port, 7401; clients come to "
                    + "client.port, 7400)"
            }
            return CommandFailure(.refused, text, status: answer.status)
        }
        var text = DisplayText.safe(message)
        if let code = error["code"]?.integer, let name = error["name"]?.text { text += " (\(code) \(name))" }
        if let field = error["field"]?.text { text += " [field \(DisplayText.safe(field))]" }
        if let wait = error["retryAfterMs"]?.integer, wait > 0 {
            text += "; try again in \(wait / 1000 + (wait % 1000 > 0 ? 1 : 0)) s"
        }
        return CommandFailure(.refused, text, status: answer.status)
    }

    /// Path and query with everything but unreserved characters escaped (RFC 3986, section 2.3).
    package static func encode(_ path: [String], _ query: [(String, String?)]) -> String {
        let pairs = query.compactMap { name, value in value.map { "\(name)=\(escape($0))" } }
        let text = "/" + path.map(escape).joined(separator: "/")
        return pairs.isEmpty ? text : text + "?" + pairs.joined(separator: "&")
    }

    private static func escape(_ text: String) -> String {
        var result = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                result += digits.count == 1 ? "%0\(digits)" : "%\(digits)"
            }
        }
        return result
    }
}

private final class AnsweredPlace: Sendable {
    private let stored = Atomic(0)

    var place: Int {
        get { stored.load(ordering: .relaxed) }
        set { stored.store(newValue, ordering: .relaxed) }
    }
}
