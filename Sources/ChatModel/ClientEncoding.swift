/// How a client's connection writes messages: what its subprotocol says (PROTOCOL.md, "Connection").
public enum ClientEncoding: UInt8, Sendable, Hashable, CaseIterable {
    /// `chatroom.v1.json`, text frames.
    case json
    /// `chatroom.v1.protobuf`, binary frames.
    case protobuf
}

/// The encodings that somebody uses.
public struct ClientEncodings: OptionSet, Sendable, Hashable {
    public var rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    public init(_ encoding: ClientEncoding) { rawValue = 1 << encoding.rawValue }

    public static let json = ClientEncodings(.json)
    public static let protobuf = ClientEncodings(.protobuf)
}
