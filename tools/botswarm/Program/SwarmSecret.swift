import BotSwarmCore
import FoundationEssentials
import SystemCalls

/// Where coordinator and workers take their address and their secret from.
enum SwarmSecret {
    /// Reads `host:port`; IPv6 addresses stand in brackets.
    static func address(_ text: String) throws(SwarmFailure) -> (host: String, port: Int) {
        guard let colon = text.lastIndex(of: ":"), let port = UInt16(text[text.index(after: colon)...]) else {
            throw SwarmFailure(.usage, "\(text) is not an address like 127.0.0.1:7800")
        }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty else { throw SwarmFailure(.usage, "\(text) is not an address like 127.0.0.1:7800") }
        return (String(host), Int(port))
    }

    static func isLoopback(_ host: String) -> Bool {
        host == "localhost" || host == "::1" || (host.hasPrefix("127.") && host.split(separator: ".").count == 4)
    }

    /// - Parameter mayBeRandom: whether nobody else has to know it.
    static func find(file: String?, mayBeRandom: Bool) throws(SwarmFailure) -> String {
        if let file {
            guard let status = FileStatus(path: file), let data = FileManager.default.contents(atPath: file) else {
                throw SwarmFailure(.usage, "\(file) can't be read")
            }
            guard status.isOwnersOnly else {
                throw SwarmFailure(.usage, "\(file) must be readable by its owner only: chmod 600 \(file)")
            }
            return String(decoding: data, as: UTF8.self).trimmed
        }
        if let secret = ProcessInfo.processInfo.environment[SharedSecret.variable] { return secret }
        guard mayBeRandom else {
            throw SwarmFailure(
                .usage, "coordinator and workers need a secret: --secret-file or \(SharedSecret.variable)")
        }
        return SharedSecret.random()
    }
}
