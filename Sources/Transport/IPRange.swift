internal import Glibc

/// An IP address in its canonical form: an IPv4 address mapped into IPv6 is the IPv4 address.
public struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    /// 4 or 16 bytes, most significant first.
    public let bytes: [UInt8]

    /// nil for what is not a numeric address (RFC 4291 §2.2 for IPv6; no zone, no brackets).
    public init?(_ text: some StringProtocol) {
        let text = String(text)
        var four = in_addr()
        var sixteen = in6_addr()
        if inet_pton(AF_INET, text, &four) == 1 {
            bytes = withUnsafeBytes(of: four) { Array($0) }
        } else if inet_pton(AF_INET6, text, &sixteen) == 1 {
            let all = withUnsafeBytes(of: sixteen) { Array($0) }
            bytes = all.starts(with: Self.mapped) ? Array(all[12...]) : all
        } else {
            return nil
        }
    }

    /// nil for other than 4 or 16 bytes.
    public init?(bytes: some Collection<UInt8>) {
        guard bytes.count == 4 || bytes.count == 16 else { return nil }
        let all = Array(bytes)
        self.bytes = all.starts(with: Self.mapped) ? Array(all[12...]) : all
    }

    /// The prefix of an IPv4 address mapped into IPv6 (RFC 4291 §2.5.5.2).
    private static let mapped: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF]

    /// The range that one customer of a network usually holds: an IPv4 address, or a /64 of IPv6 addresses (RFC 6177
    /// §2).
    public var holder: IPRange { IPRange(self, prefixBits: bytes.count == 4 ? 32 : 64) }

    /// 0.0.0.0 or ::, which is every address of a machine.
    public var isUnspecified: Bool { bytes.allSatisfy { $0 == 0 } }

    /// 127.0.0.0/8 or ::1: reached from this machine only.
    public var isLoopback: Bool {
        bytes.count == 4 ? bytes[0] == 127 : bytes.last == 1 && bytes.dropLast().allSatisfy { $0 == 0 }
    }

    public var description: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let family = bytes.count == 4 ? AF_INET : AF_INET6
        guard bytes.withUnsafeBytes({ inet_ntop(family, $0.baseAddress, &text, socklen_t(text.count)) }) != nil else {
            return "?"
        }
        return text.withUnsafeBufferPointer { $0.baseAddress.map { String(cString: $0) } } ?? "?"
    }
}

/// The addresses that begin with the same bits.
public struct IPRange: Hashable, Sendable, CustomStringConvertible {
    public let first: IPAddress
    public let prefixBits: Int

    /// Reads an address or CIDR notation (RFC 4632 §3.1): `10.0.0.0/8`, `fd00::/8`, `192.0.2.1`.
    public init?(_ text: String) {
        let halves = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let head = halves.first, let address = IPAddress(head) else { return nil }
        let all = address.bytes.count * 8
        guard halves.count == 2 else {
            self.init(address, prefixBits: all)
            return
        }
        // A mapped IPv4 prefix would be counted from another place.
        guard let bits = Int(halves[1]), (0...all).contains(bits), head.contains(":") == (all == 128) else {
            return nil
        }
        self.init(address, prefixBits: bits)
    }

    init(_ address: IPAddress, prefixBits: Int) {
        let kept = address.bytes.enumerated().map { index, byte in
            let bits = min(8, max(0, prefixBits - index * 8))
            return bits == 0 ? 0 : byte & (0xFF << UInt8(8 - bits))
        }
        first = IPAddress(kept)
        self.prefixBits = prefixBits
    }

    public func contains(_ address: IPAddress) -> Bool {
        address.bytes.count == first.bytes.count && IPRange(address, prefixBits: prefixBits).first == first
    }

    public var description: String { prefixBits == first.bytes.count * 8 ? "\(first)" : "\(first)/\(prefixBits)" }
}

extension IPAddress {
    fileprivate init(_ bytes: [UInt8]) { self.bytes = bytes }
}
