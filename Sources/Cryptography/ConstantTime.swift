internal import COpenSSL

/// Comparing secrets without telling, by the time that it takes, where they differ.
public enum ConstantTime {
    /// Whether both have the same bytes. The count is no secret.
    public static func areEqual(_ a: some Collection<UInt8>, _ b: some Collection<UInt8>) -> Bool {
        a.withBytes { a in
            b.withBytes { b in
                guard a.count == b.count else { return false }
                guard let first = a.baseAddress, let second = b.baseAddress else { return true }
                return CRYPTO_memcmp(first, second, a.count) == 0
            }
        }
    }
}

/// Random bytes for keys, from OpenSSL's generator, which the system seeds.
public enum SecureRandom {
    public static func bytes(_ count: Int) -> [UInt8] {
        precondition(count >= 0 && count <= Int32.max, "a count of bytes")
        return [UInt8](unsafeUninitializedCapacity: count) { bytes, made in
            OpenSSL.require(RAND_bytes(bytes.baseAddress, Int32(count)))
            made = count
        }
    }
}
