import Foundation
import Synchronization

/// A server of the protocol S3 (`tools/media/s3-server`: PyPI's moto behind a door that checks signatures), where this machine has
/// what it needs.
final class S3Server: Sendable {
    static let accessKey = "AKIATEST"
    static let secretKey = "a/secret+key"
    static let bucket = "media"

    private let program: Program
    let port: Int
    let folder: String

    /// The script's place, and the environment in which Python finds its packages.
    private static let script = URL(filePath: #filePath).deletingLastPathComponent().appending(
        path: "../../../tools/media/s3-server"
    )
    .standardizedFileURL
    private static var environment: [String: String] {
        ProcessInfo.processInfo.environment.filter { ["PATH", "HOME", "VIRTUAL_ENV", "PYENV_ROOT"].contains($0.key) }
    }
    private static let python = ProcessInfo.processInfo.environment["S3_PYTHON"] ?? "python3"

    static let isAvailable: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = [python, "-c", "import moto.server, flask, flask_cors"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    init() async throws {
        program = try Program(
            executable: URL(fileURLWithPath: "/usr/bin/env"),
            [Self.python, Self.script.path, Self.bucket, Self.accessKey, Self.secretKey], environment: Self.environment)
        let line = try await program.outputLine { Int($0) != nil }
        guard let port = line.flatMap({ Int($0) }) else { throw TestFailure("the S3 server does not start") }
        self.port = port
        folder = FileManager.default.temporaryDirectory.path + "/s3-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        writeSecret(Self.secretKey)
    }

    func stop() {
        program.signal(SIGKILL)
        try? FileManager.default.removeItem(atPath: folder)
    }

    func writeSecret(_ text: String) {
        _ = FileManager.default.createFile(
            atPath: folder + "/secret", contents: Data((text + "\n").utf8), attributes: [.posixPermissions: 0o600])
    }

    /// The settings of a node that uses it.
    func settings(_ more: [String: Any] = [:]) -> [String: Any] {
        let bucket: [String: Any] = [
            "endpoint": "http://localhost:\(port)", "bucket": Self.bucket, "accessKey": Self.accessKey,
            "secretKeyFile": folder + "/secret",
        ]
        return ["media": ["store": "s3", "roundSeconds": 1, "s3": bucket.merging(more) { $1 }]]
    }

    /// Sends a request to an absolute URL of the server and reads the whole answer.
    func send(_ method: String, _ url: String, _ headers: [(String, String)] = [], body: [UInt8]? = nil) async throws
        -> HTTPAnswer
    {
        let rest = url.dropFirst("http://".count)
        let authority = rest.prefix { $0 != "/" }
        guard url.hasPrefix("http://"), authority.hasSuffix(":\(port)") else {
            throw TestFailure("\(url) is elsewhere")
        }
        let socket = TestSocket()
        try await socket.open(port: port, tls: nil)
        var head =
            "\(method) \(rest.dropFirst(authority.count)) HTTP/1.1\r\nHost: \(authority)\r\nConnection: close\r\n"
        for (name, value) in headers { head += "\(name): \(value)\r\n" }
        if let body { head += "Content-Length: \(body.count)\r\n" }
        await socket.write(Array((head + "\r\n").utf8) + (body ?? []))
        let answer = try await socket.received("an answer of the store") { bytes -> HTTPAnswer? in
            guard method == "HEAD" else { return HTTPAnswer.parse(bytes) }
            let text = String(decoding: bytes, as: UTF8.self)
            guard text.contains("\r\n\r\n") else { return nil }
            return HTTPAnswer.parse(Array(text.replacing("Content-Length", with: "X-Length").utf8))
        }
        await socket.close()
        return answer
    }

    /// Changes what the server does; its keys.
    @discardableResult
    func control(_ rules: String = "{}") async throws -> (keys: [String], calls: Int) {
        let answer = try await send("POST", "http://localhost:\(port)/__control", body: Array(rules.utf8))
        let fields = try answer.fields()
        guard let keys = fields["keys"] as? [String], let calls = fields["calls"] as? Int else {
            throw TestFailure("the S3 server says nothing")
        }
        return (keys, calls)
    }
}
