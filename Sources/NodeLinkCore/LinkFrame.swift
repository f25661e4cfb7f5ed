/// One thing that one node tells another.
public struct LinkFrame: Sendable, Hashable {
    /// Where it belongs.
    public var lane: LinkLane
    /// At most `lane.frameBytesMax`.
    public var payload: [UInt8]

    public init(_ lane: LinkLane, _ payload: [UInt8]) {
        self.lane = lane
        self.payload = payload
    }

    /// Bytes on the wire: the payload's length in four, most significant first, the lane in one, the payload.
    public static let headerBytes = 5

    /// Its size on the wire.
    public var byteCount: Int { Self.headerBytes + payload.count }

    /// Appends it as it is on the wire.
    public func append(to bytes: inout [UInt8]) {
        let length = UInt32(clamping: payload.count)
        for shift in stride(from: 24 as UInt32, through: 0, by: -8) {
            bytes.append(UInt8(truncatingIfNeeded: length >> shift))
        }
        bytes.append(lane.rawValue)
        bytes.append(contentsOf: payload)
    }
}

/// Cuts what comes from the other node into frames. Keeps at most one frame that is not complete.
public struct LinkFrameReader: Sendable {
    private var bytes: [UInt8] = []
    private var start = 0

    public init() {}

    /// Bytes that wait for the rest of their frame.
    public var waitingBytes: Int { bytes.count - start }

    /// Takes what has come.
    public mutating func append(_ more: UnsafeRawBufferPointer) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 20)
            start = 0
        } else if start > 1 << 16, start > bytes.count / 2 {
            bytes.removeSubrange(0..<start)
            start = 0
        }
        bytes.append(contentsOf: more)
    }

    /// The next whole frame; nil until more has come.
    /// - Throws: `malformed` for a lane that there is not or a frame over its lane's bound; the connection is of no use
    ///   then.
    public mutating func next() throws(LinkError) -> LinkFrame? {
        guard waitingBytes >= LinkFrame.headerBytes else { return nil }
        let length = bytes[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        guard let lane = LinkLane(rawValue: bytes[start + 4]) else {
            throw LinkError(.malformed, "there is no lane \(bytes[start + 4])")
        }
        guard length <= lane.frameBytesMax else {
            throw LinkError(.malformed, "a frame of \(length) bytes is over the \(lane.frameBytesMax) of its lane")
        }
        guard waitingBytes - LinkFrame.headerBytes >= length else { return nil }
        let first = start + LinkFrame.headerBytes
        start = first + length
        return LinkFrame(lane, Array(bytes[first..<start]))
    }
}
