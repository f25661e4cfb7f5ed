import Foundation

/// Ports that nobody uses, for what must be known before it is bound, and after it was killed.
enum FreePort {
    /// Below those that the system gives to whoever asks for any, so that none is taken while its node is down.
    private static let range = 10_000..<30_000

    /// Some that are free for TCP and UDP on 127.0.0.1.
    static func take(_ count: Int) throws -> [Int] {
        var ports: [Int] = []
        for _ in 0..<1_000 where ports.count < count {
            let port = Int.random(in: range)
            if !ports.contains(port), isFree(port, stream), isFree(port, datagram) { ports.append(port) }
        }
        guard ports.count == count else { throw TestFailure("no \(count) free ports") }
        return ports
    }

    private static let stream = Int32(SOCK_STREAM.rawValue)
    private static let datagram = Int32(SOCK_DGRAM.rawValue)

    private static func isFree(_ port: Int, _ type: Int32) -> Bool {
        let descriptor = socket(AF_INET, type, 0)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(clamping: port).bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
