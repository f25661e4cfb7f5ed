import Foundation
import OpenAPITestKit
import Testing

#if canImport(Glibc)
    import Glibc
#endif

/// An answer as it came over the socket.
struct LoopbackAnswer: Sendable {
    var status: Int
    /// Names in lower case.
    var headers: [String: String]
    var body: Data
    /// The body's JSON; nil when it is none.
    var json: [String: JSON]? { (try? JSONDecoder().decode(JSON.self, from: body))?.object }
    var error: JSON? { json?["error"] }
}

/// A client that sends exactly the bytes that a test wants to, good or bad, over a socket of its own.
struct LoopbackClient: Sendable {
    struct Failure: Error { var message: String }

    let port: Int

    /// Sends a well-formed request with the admin key of `FakeCluster`.
    func call(
        _ method: String, _ target: String, _ body: String? = nil, headers: [String: String] = [:],
        bearer: String? = FakeCluster.adminKey
    ) async throws -> LoopbackAnswer {
        var text = "\(method) \(target) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
        if let bearer { text += "Authorization: Bearer \(bearer)\r\n" }
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if let body { text += "Content-Length: \(body.utf8.count)\r\n" }
        return try await send(Array((text + "\r\n" + (body ?? "")).utf8))
    }

    /// Sends bytes and reads one answer, off the cooperative threads because it blocks.
    /// - Parameter answers: how many are awaited on the connection; the last one is returned.
    func send(_ bytes: [UInt8], answers: Int = 1) async throws -> LoopbackAnswer {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread {
                continuation.resume(with: Result { try exchange(bytes, answers) })
            }
        }
    }

    private func exchange(_ bytes: [UInt8], _ answers: Int) throws -> LoopbackAnswer {
        let socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard socket >= 0 else { throw Failure(message: "no socket") }
        defer { close(socket) }
        // A read that waits for longer fails.
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw Failure(message: "no connection") }
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            // A server that refuses early may stop reading; what it answered is still there to read.
            guard count > 0 else { break }
            sent += count
        }
        var rest = Data()
        var answer = try Self.readAnswer(socket, &rest)
        for _ in 1..<answers { answer = try Self.readAnswer(socket, &rest) }
        return answer
    }

    /// - Parameter rest: what has been read beyond the last answer.
    private static func readAnswer(_ socket: Int32, _ rest: inout Data) throws -> LoopbackAnswer {
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            if var answer = try? parse(rest), let length = answer.headers["content-length"].flatMap({ Int($0) }),
                answer.body.count >= length
            {
                rest = Data(answer.body.dropFirst(length))
                answer.body = Data(answer.body.prefix(length))
                return answer
            }
            let count = recv(socket, &chunk, chunk.count, 0)
            guard count > 0 else { return try parse(rest) }
            rest.append(contentsOf: chunk[..<count])
        }
    }

    private static func parse(_ data: Data) throws -> LoopbackAnswer {
        guard let end = data.range(of: Data("\r\n\r\n".utf8)) else { throw Failure(message: "no answer") }
        let lines = String(decoding: data[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count >= 2, let status = Int(words[1]) else { throw Failure(message: "no status line") }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2 else { continue }
            headers[halves[0].lowercased()] = halves[1].trimmingCharacters(in: .whitespaces)
        }
        return LoopbackAnswer(status: status, headers: headers, body: Data(data[end.upperBound...]))
    }
}
