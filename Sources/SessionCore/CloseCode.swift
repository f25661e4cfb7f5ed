/// Why the server ends a connection (PROTOCOL.md, "Closing"; RFC 6455 §7.4.1).
public enum CloseCode: UInt16, CaseIterable, Sendable {
    case normal = 1000
    case draining = 1001
    case protocolError = 1002
    case unsupportedData = 1003
    case invalidText = 1007
    case policyViolation = 1008
    case tooBig = 1009
    case authentication = 4401
    case forcedOffline = 4403
    case silent = 4408
    case takenOver = 4410
    case connectionLimit = 4429
}
