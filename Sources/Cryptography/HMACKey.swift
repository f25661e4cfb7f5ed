internal import COpenSSL

/// A key for HMAC-SHA-256 (RFC 2104), prepared once for many codes. From any thread.
public struct HMACKey: Sendable {
    public static let codeBytes = 32

    /// A context that has taken the key and no message. It is copied for each code and never changed, which only reads
    /// it: that is the invariant behind `@unchecked Sendable`. OpenSSL overwrites the key when it is freed.
    private final class Prepared: @unchecked Sendable {
        let context: OpaquePointer

        init(_ secret: some Collection<UInt8>) {
            context = OpenSSL.require(EVP_MAC_CTX_new(OpenSSL.shared.hmac))
            // A missing key would mean "the one from before"; zeros are what HMAC pads an empty one with.
            let secret = secret.isEmpty ? [UInt8](repeating: 0, count: HMACKey.codeBytes) : Array(secret)
            let isDone = secret.withBytes { chatroom_hmac_sha256_init(context, $0.octets, $0.count) }
            OpenSSL.require(isDone)
        }

        deinit { EVP_MAC_CTX_free(context) }
    }

    private let prepared: Prepared

    public init(_ secret: some Collection<UInt8>) { prepared = Prepared(secret) }

    /// The code of all parts, one after the other.
    public func code(of parts: [UInt8]...) -> [UInt8] { code(parts) }

    /// Whether it is the code of all parts; takes the same time for all wrong ones.
    public func isCode(_ code: some Collection<UInt8>, of parts: [UInt8]...) -> Bool {
        ConstantTime.areEqual(code, self.code(parts))
    }

    private func code(_ parts: [[UInt8]]) -> [UInt8] {
        let context = OpenSSL.require(EVP_MAC_CTX_dup(prepared.context))
        defer { EVP_MAC_CTX_free(context) }
        for part in parts { OpenSSL.require(part.withBytes { EVP_MAC_update(context, $0.octets, $0.count) }) }
        return [UInt8](unsafeUninitializedCapacity: Self.codeBytes) { bytes, count in
            OpenSSL.require(EVP_MAC_final(context, bytes.baseAddress, &count, Self.codeBytes))
        }
    }
}

/// Keys derived from another one: HKDF with SHA-256 (RFC 5869).
public enum HKDF {
    /// Bytes that can be derived (§2.3).
    public static let bytesMax = 255 * HMACKey.codeBytes

    /// - Parameters:
    ///   - salt: what makes keys of the same secret different; need not be secret.
    ///   - info: what the key is for, so that keys for different purposes differ.
    ///   - count: 1 ... ``bytesMax``.
    public static func key(from secret: [UInt8], salt: [UInt8] = [], info: [UInt8], bytes count: Int) -> [UInt8] {
        precondition((1...bytesMax).contains(count), "HKDF derives 1 to \(bytesMax) bytes")
        let key = HMACKey(HMACKey(salt).code(of: secret))
        var derived: [UInt8] = []
        var block: [UInt8] = []
        var number: UInt8 = 0
        while derived.count < count {
            // `count` lets it get to 255 at most.
            number += 1
            block = key.code(of: block, info, [number])
            derived += block
        }
        return Array(derived.prefix(count))
    }
}
