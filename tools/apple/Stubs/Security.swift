/// The part of Apple's modules CoreFoundation and Security that the SDK uses, as those declare it.
public typealias OSStatus = Int32

public final class CFAllocator: @unchecked Sendable {}
public final class CFError: Error, @unchecked Sendable {}
/// The type that `as` bridges to there is the same type here.
public typealias CFArray = [Any]
public typealias CFData = Data

/// A type of Foundation.
public struct Data: Sendable, RandomAccessCollection {
    public init(_ bytes: some Sequence<UInt8>) {}
    public var startIndex: Int { 0 }
    public var endIndex: Int { 0 }
    public subscript(_ index: Int) -> UInt8 { 0 }
}

public final class SecCertificate: @unchecked Sendable {}
public final class SecTrust: @unchecked Sendable {}

public let errSecSuccess: OSStatus = 0

public func SecCertificateCreateWithData(_ allocator: CFAllocator?, _ data: CFData) -> SecCertificate? { nil }
public func SecTrustSetAnchorCertificates(_ trust: SecTrust, _ anchorCertificates: CFArray?) -> OSStatus { 0 }
public func SecTrustSetAnchorCertificatesOnly(_ trust: SecTrust, _ anchorCertificatesOnly: Bool) -> OSStatus { 0 }
public func SecTrustEvaluateWithError(_ trust: SecTrust, _ error: UnsafeMutablePointer<CFError?>?) -> Bool { false }
