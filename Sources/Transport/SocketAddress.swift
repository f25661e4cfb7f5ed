internal import CUV
internal import Glibc

/// An IPv4 or IPv6 address and a port, for one call into the system.
struct SocketAddress {
    private var storage: sockaddr_storage

    /// Parses a numeric address; `localhost` stands for 127.0.0.1. Names are not looked up: that would block.
    init(host: String, port: Int) throws(TransportError) {
        storage = sockaddr_storage()
        let host = host == "localhost" ? "127.0.0.1" : host
        var result = UV_EINVAL.rawValue
        if let port = UInt16(exactly: port) {
            result = withUnsafeMutableBytes(of: &storage) { memory in
                guard let base = memory.baseAddress else { return UV_EINVAL.rawValue }
                if uv_ip4_addr(host, Int32(port), base.assumingMemoryBound(to: sockaddr_in.self)) == 0 { return 0 }
                return uv_ip6_addr(host, Int32(port), base.assumingMemoryBound(to: sockaddr_in6.self))
            }
        }
        guard result == 0 else { throw TransportError(uvCode: result, doing: "\(host):\(port) as an address") }
    }

    /// Lets `fill` write the address; nil when it reports an error.
    init?(filledBy fill: (UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<Int32>) -> Int32) {
        var address = sockaddr_storage()
        var length = Int32(MemoryLayout<sockaddr_storage>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { fill($0, &length) }
        }
        guard result == 0 else { return nil }
        storage = address
    }

    /// Copies an address that libuv hands out.
    init?(copying address: UnsafePointer<sockaddr>) {
        storage = sockaddr_storage()
        let size: Int
        switch Int32(address.pointee.sa_family) {
        case AF_INET: size = MemoryLayout<sockaddr_in>.size
        case AF_INET6: size = MemoryLayout<sockaddr_in6>.size
        default: return nil
        }
        withUnsafeMutableBytes(of: &storage) {
            $0.copyMemory(from: UnsafeRawBufferPointer(start: address, count: size))
        }
    }

    /// `AF_INET` or `AF_INET6`.
    var family: Int32 { Int32(storage.ss_family) }

    /// The bytes that the system reads.
    var length: UInt32 {
        UInt32(family == AF_INET ? MemoryLayout<sockaddr_in>.size : MemoryLayout<sockaddr_in6>.size)
    }

    /// The port, in 0...65,535.
    var port: Int {
        withPointer { address in
            // sin_port and sin6_port are at the same place.
            Int(UInt16(bigEndian: UnsafeRawPointer(address).load(fromByteOffset: 2, as: UInt16.self)))
        }
    }

    /// The numeric address; an IPv4 address that came in on an IPv6 socket is written as IPv4.
    var host: String {
        let text = withPointer { address in
            withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { text in
                guard let base = text.baseAddress, uv_ip_name(address, base, text.count) == 0 else { return "" }
                return String(cString: base)
            }
        }
        let mappedPrefix = "::ffff:"
        return text.hasPrefix(mappedPrefix) && text.contains(".") ? String(text.dropFirst(mappedPrefix.count)) : text
    }

    /// Calls `body` with the address, which is valid during the call only.
    func withPointer<Result>(_ body: (UnsafePointer<sockaddr>) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1, body)
        }
    }
}
