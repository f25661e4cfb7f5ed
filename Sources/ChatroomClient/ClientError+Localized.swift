import ClientCore

#if canImport(FoundationEssentials)
    // Not the whole of Foundation, which brings ICU and more with it.
    import FoundationEssentials
#else
    import Foundation
#endif

/// For people: `localizedDescription` is the error's sentence.
extension ClientError: LocalizedError {
    public var errorDescription: String? { message }
}
