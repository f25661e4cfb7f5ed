/// Why a node does not serve.
public struct Unreadiness: Sendable, Hashable {
    /// A sentence for operators.
    public var reason: String
    /// Whether it may end by itself, so that it makes sense to ask again.
    public var mayPass: Bool

    public init(_ reason: String, mayPass: Bool = true) {
        self.reason = reason
        self.mayPass = mayPass
    }
}
