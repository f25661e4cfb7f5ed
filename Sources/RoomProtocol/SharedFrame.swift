import ChatModel
import HTTPWebSocket
import Wire

/// A frame that everybody in a room is shown: one complete WebSocket frame for each encoding that somebody there uses,
/// made once and shared by all viewers.
public struct SharedFrame: Sendable, Equatable {
    public enum Traffic: Sendable, Hashable {
        /// Kept and unkept messages, in order.
        case messages
        /// Droppable, by the highest priority in it: LOW first.
        case barrage(Priority)
        /// Counts and states: only the newest matters.
        case status
        /// Totals of tallies that have changed: a viewer who lacks some is told them again.
        case totals
    }

    public var traffic: Traffic
    /// The frame for the JSON subprotocol, header included; nil when nobody uses it.
    public var json: [UInt8]?
    /// The frame for the protobuf subprotocol, header included; nil when nobody uses it.
    public var protobuf: [UInt8]?
    /// The seqs in it, if any: what a viewer misses who cannot be given this frame.
    public var keptSeqs: ClosedRange<UInt64>?
    /// How many unkept messages are in it.
    public var unkept: Int
    /// For how many barrage items it stands.
    public var barrage: Int
    /// For how many of these it only says that they were spared.
    public var told = 0
    /// When the oldest message in it was stamped, if there is one.
    public var oldestTime: Timestamp?
}

extension SharedFrame {
    /// This frame with one more push at its end, which says that so many barrage items were spared.
    public func followed(by push: Push, told count: Int) -> SharedFrame {
        var all = self
        all.barrage += count
        all.told += count
        all.json = json.map { frame in
            var payload = Array(frame[WebSocketFrameEncoder.headerCount(of: frame)...])
            payload.append(UInt8(ascii: "\n"))
            push.appendJSON(to: &payload)
            return WebSocketFrameEncoder.frame(.text, payload)
        }
        all.protobuf = protobuf.map { frame in
            var payload = Array(frame[WebSocketFrameEncoder.headerCount(of: frame)...])
            push.appendProtobuf(to: &payload)
            return WebSocketFrameEncoder.frame(.binary, payload)
        }
        return all
    }
}

/// Writes a shared frame, push by push, in the encodings that a room's viewers use.
public struct SharedFrameWriter: Sendable {
    public let encodings: ClientEncodings
    private var json: [UInt8] = []
    private var protobuf: [UInt8] = []
    public private(set) var isEmpty = true
    private var oldestTime: Timestamp?

    /// - Parameter encodings: none of them makes frames without bytes, for a room without viewers.
    public init(_ encodings: ClientEncodings) { self.encodings = encodings }

    /// Most frames have no more bytes; others are moved once or twice while they grow.
    private static let capacity = 480

    /// The bytes of the longer encoding so far.
    public var byteCount: Int { max(0, max(json.count, protobuf.count) - WebSocketFrameEncoder.mediumHeaderCount) }

    public mutating func append(_ push: Push) {
        if case .message(let message) = push { return append(message) }
        append({ push.appendJSON(to: &$0) }, { push.appendProtobuf(to: &$0) })
    }

    /// Appends the push of a message.
    public mutating func append(_ message: Message) {
        append({ message.appendPushJSON(to: &$0) }, { message.appendPushProtobuf(to: &$0) })
        if oldestTime == nil { oldestTime = message.time }
    }

    private mutating func append(_ writeJSON: (inout [UInt8]) -> Void, _ writeProtobuf: (inout [UInt8]) -> Void) {
        if encodings.contains(.json) {
            if isEmpty {
                json = WebSocketFrameEncoder.begin(capacity: Self.capacity)
            } else {
                json.append(UInt8(ascii: "\n"))
            }
            writeJSON(&json)
        }
        if encodings.contains(.protobuf) {
            if isEmpty { protobuf = WebSocketFrameEncoder.begin(capacity: Self.capacity) }
            writeProtobuf(&protobuf)
        }
        isEmpty = false
    }

    /// Appends the push of a message, unless the frame, in one of the encodings, would be longer than a frame may be.
    /// - Returns: false when it is not appended, and is to begin the next frame. The first one is always appended.
    public mutating func appendIfFits(_ message: Message) -> Bool {
        let before = (json: json.count, protobuf: protobuf.count, isEmpty: isEmpty, oldestTime: oldestTime)
        append(message)
        guard !before.isEmpty, byteCount > Limits.framePayloadBytes else { return true }
        json.removeLast(json.count - before.json)
        protobuf.removeLast(protobuf.count - before.protobuf)
        oldestTime = before.oldestTime
        return false
    }

    /// The frame of all that was appended.
    public consuming func frame(
        _ traffic: SharedFrame.Traffic, keptSeqs: ClosedRange<UInt64>? = nil, unkept: Int = 0, barrage: Int = 0,
        told: Int = 0
    ) -> SharedFrame {
        if isEmpty {
            json = WebSocketFrameEncoder.begin(capacity: 0)
            protobuf = WebSocketFrameEncoder.begin(capacity: 0)
        }
        if encodings.contains(.json) { WebSocketFrameEncoder.finish(.text, &json) }
        if encodings.contains(.protobuf) { WebSocketFrameEncoder.finish(.binary, &protobuf) }
        return SharedFrame(
            traffic: traffic, json: encodings.contains(.json) ? json : nil,
            protobuf: encodings.contains(.protobuf) ? protobuf : nil, keptSeqs: keptSeqs, unkept: unkept,
            barrage: barrage, told: told, oldestTime: oldestTime)
    }
}
