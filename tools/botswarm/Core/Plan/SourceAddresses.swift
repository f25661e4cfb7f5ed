/// From which address a connection leaves. One address has about 28,000 ports for one target; on loopback the whole of
/// 127/8 is there to be used.
package struct SourceAddresses: Hashable, Sendable {
    /// Connections that leave from one address before the next one is taken.
    package static let connectionsPerAddress = 20_000
    private static let addressCount = 200

    private let isLoopback: Bool
    private var count = 0

    /// - Parameter target: the host that is connected to.
    package init(target: String) {
        isLoopback = target == "localhost" || (target.hasPrefix("127.") && target.split(separator: ".").count == 4)
    }

    /// The source of the next connection; nil lets the system choose.
    package mutating func next() -> String? {
        guard isLoopback else { return nil }
        defer { count &+= 1 }
        let group = count / Self.connectionsPerAddress % Self.addressCount
        return group == 0 ? nil : "127.0.0.\(group + 1)"
    }
}
