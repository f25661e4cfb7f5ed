/// The rest of an answer behind its first bytes, for answers that are too large to be made before they are sent.
///
/// The next piece is asked for when the caller's socket has taken the one before, so that one piece of an answer is in
/// memory, however slowly it is read.
final class APIResponseStream: Sendable, Hashable {
    /// The next piece, not empty; `nil` at the end. A failure ends the connection, so that the caller sees that the
    /// answer is not whole.
    let next: @Sendable () async throws -> [UInt8]?

    init(_ next: @escaping @Sendable () async throws -> [UInt8]?) { self.next = next }

    static func == (a: APIResponseStream, b: APIResponseStream) -> Bool { a === b }
    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
