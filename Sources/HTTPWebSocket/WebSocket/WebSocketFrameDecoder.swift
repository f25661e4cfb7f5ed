import ChatModel
import Wire

/// Turns the bytes of a WebSocket connection into whole messages and control frames (RFC 6455 §5), however they are
/// cut.
///
/// A frame that lies whole in one chunk is delivered from there. Only a partial frame or a fragmented message is kept,
/// and nothing between frames: an idle decoder holds no memory but itself. The kept bytes are bounded by
/// `messageBytesMax` and a frame's head, because a length is checked before its bytes are taken.
public struct WebSocketFrameDecoder: Sendable {
    /// Messages over this many bytes are 1009 (PROTOCOL.md, "Frames").
    public static let messageBytesMaxDefault = Limits.clientFrameBytes
    /// More fragments without content than this in one message are 1008: its size would not bound what it costs.
    static let emptyFragmentsMax = 128

    private let role: WebSocketRole
    private var isClosed = false
    /// The type of the message whose fragments are being collected.
    private var fragmentedOpcode: WebSocketOpcode?
    private var isFragmentedCompressed = false
    private var emptyFragments: UInt8 = 0
    /// permessage-deflate was negotiated: messages may be compressed.
    public var mayBeCompressed = false
    /// Messages over this many bytes are 1009 from here on: what has begun is held to it too.
    public var messageBytesMax: Int {
        get { Int(bytesMax) }
        set { bytesMax = Int32(clamping: newValue) }
    }
    private var bytesMax: Int32
    /// The beginning of a frame that is not there as a whole.
    private var partial: [UInt8] = []
    /// The fragments so far.
    private var fragments: [UInt8] = []

    public init(role: WebSocketRole, messageBytesMax: Int = Self.messageBytesMaxDefault) {
        self.role = role
        bytesMax = Int32(clamping: messageBytesMax)
    }

    /// The bytes held back until the rest of a frame or message comes.
    public var bufferedCount: Int { partial.count + fragments.count }

    /// The memory for them, which grows ahead of what comes.
    public var bufferedCapacity: Int { partial.capacity + fragments.capacity }

    /// Takes the next bytes and calls `body` for everything that became whole, in order.
    /// - Returns: what the peer did wrong, once; after that, and after a close frame, all bytes are ignored.
    public mutating func decode(_ bytes: UnsafeRawBufferPointer, _ body: (WebSocketEvent) -> Void) -> WebSocketFailure?
    {
        var frames = Int.max
        return decode(bytes, framesMax: &frames, body).failure
    }

    /// Takes the next bytes as the other form does, but stops behind the last frame that `framesMax` allows.
    /// - Parameter framesMax: how many frames may become whole; lowered by those that did.
    /// - Returns: besides the failure, how many bytes were taken. The caller keeps the rest and brings it again first.
    public mutating func decode(
        _ bytes: UnsafeRawBufferPointer, framesMax: inout Int, _ body: (WebSocketEvent) -> Void
    ) -> (taken: Int, failure: WebSocketFailure?) {
        var position = 0
        do throws(WebSocketFailure) {
            while position < bytes.count, !isClosed, framesMax > 0 {
                let rest = UnsafeRawBufferPointer(rebasing: bytes[position...])
                position += try partial.isEmpty ? takeFrame(rest, body) : completeFrame(rest, body)
                if partial.isEmpty { framesMax -= 1 }
            }
            // Bytes behind the end are ignored.
            return (isClosed ? bytes.count : position, nil)
        } catch {
            isClosed = true
            partial = []
            fragments = []
            return (bytes.count, error)
        }
    }

    private var payloadMax: Int { max(0, messageBytesMax - fragments.count) }

    /// Takes the frame at the front of `bytes`, or keeps them. Returns how many were taken.
    private mutating func takeFrame(_ bytes: UnsafeRawBufferPointer, _ body: (WebSocketEvent) -> Void)
        throws(WebSocketFailure) -> Int
    {
        guard let header = try header(bytes) else {
            partial = [UInt8](bytes)
            return bytes.count
        }
        try checkOrder(header)
        let count = header.headerCount + header.payloadCount
        guard bytes.count >= count else {
            partial = [UInt8](bytes)
            return bytes.count
        }
        let payload = UnsafeRawBufferPointer(rebasing: bytes[header.headerCount..<count])
        if let mask = header.mask, !payload.isEmpty {
            try Self.unmasked(payload, mask) { payload throws(WebSocketFailure) in try take(header, payload, body) }
        } else {
            try take(header, payload, body)
        }
        return count
    }

    /// Adds to the partial frame no more than it needs. Returns how many bytes were taken.
    private mutating func completeFrame(_ bytes: UnsafeRawBufferPointer, _ body: (WebSocketEvent) -> Void)
        throws(WebSocketFailure) -> Int
    {
        var taken = 0
        var header = try partialHeader()
        while header == nil {
            guard taken < bytes.count else { return taken }
            partial.append(bytes[taken])
            taken += 1
            header = try partialHeader()
        }
        guard let header else { return taken }
        try checkOrder(header)
        let count = header.headerCount + header.payloadCount
        let more = min(max(0, count - partial.count), bytes.count - taken)
        partial.append(contentsOf: bytes[taken..<taken + more])
        taken += more
        guard partial.count == count else { return taken }
        var frame: [UInt8] = []
        swap(&frame, &partial)
        try frame.withUnsafeMutableBufferPointer { frame throws(WebSocketFailure) in
            let payload = UnsafeMutableRawBufferPointer(
                rebasing: UnsafeMutableRawBufferPointer(frame)[header.headerCount...])
            if let mask = header.mask { WebSocketMask.apply(mask, to: payload) }
            try take(header, UnsafeRawBufferPointer(payload), body)
        }
        return taken
    }

    private func partialHeader() throws(WebSocketFailure) -> WebSocketFrameHeader? {
        try partial.withUnsafeBufferPointer { partial throws(WebSocketFailure) in
            try header(UnsafeRawBufferPointer(partial))
        }
    }

    private func header(_ bytes: UnsafeRawBufferPointer) throws(WebSocketFailure) -> WebSocketFrameHeader? {
        try WebSocketFrameHeader.parse(
            bytes, role: role, payloadMax: payloadMax, mayBeCompressed: mayBeCompressed)
    }

    /// Copies a masked payload, since the caller's bytes are not to be changed: to the stack when it is short.
    private static func unmasked(
        _ payload: UnsafeRawBufferPointer, _ mask: UInt32,
        _ body: (UnsafeRawBufferPointer) throws(WebSocketFailure) -> Void
    ) throws(WebSocketFailure) {
        var failure: WebSocketFailure?
        withUnsafeTemporaryAllocation(byteCount: payload.count, alignment: 8) { copy in
            copy.copyMemory(from: payload)
            WebSocketMask.apply(mask, to: copy)
            do throws(WebSocketFailure) {
                try body(UnsafeRawBufferPointer(copy))
            } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Continuations only follow a first fragment, and a message's fragments are not mixed with another's
    /// (RFC 6455 §5.4).
    private func checkOrder(_ header: WebSocketFrameHeader) throws(WebSocketFailure) {
        guard !header.opcode.isControl else { return }
        if header.opcode == .continuation, fragmentedOpcode == nil {
            throw .protocolError("continuation of nothing")
        }
        if header.opcode != .continuation, fragmentedOpcode != nil {
            throw .protocolError("a new message within a fragmented one")
        }
    }

    private mutating func take(
        _ header: WebSocketFrameHeader, _ payload: UnsafeRawBufferPointer, _ body: (WebSocketEvent) -> Void
    ) throws(WebSocketFailure) {
        switch header.opcode {
        case .ping: body(.ping(payload))
        case .pong: body(.pong(payload))
        case .close: try takeClose(payload, body)
        case .text, .binary:
            guard !header.isFinal else {
                return try deliver(header.opcode, isCompressed: header.isCompressed, payload, body)
            }
            fragmentedOpcode = header.opcode
            isFragmentedCompressed = header.isCompressed
            emptyFragments = 0
            fragments = [UInt8](payload)
        case .continuation:
            if payload.isEmpty {
                guard emptyFragments < Self.emptyFragmentsMax else {
                    throw WebSocketFailure(closeCode: 1008, message: "too many fragments without content")
                }
                emptyFragments += 1
            }
            fragments.append(contentsOf: payload)
            guard header.isFinal, let opcode = fragmentedOpcode else { return }
            var message: [UInt8] = []
            swap(&message, &fragments)
            fragmentedOpcode = nil
            try message.withUnsafeBufferPointer { message throws(WebSocketFailure) in
                try deliver(opcode, isCompressed: isFragmentedCompressed, UnsafeRawBufferPointer(message), body)
            }
        }
    }

    private func deliver(
        _ opcode: WebSocketOpcode, isCompressed: Bool, _ payload: UnsafeRawBufferPointer,
        _ body: (WebSocketEvent) -> Void
    ) throws(WebSocketFailure) {
        if isCompressed { return body(.compressed(isText: opcode == .text, payload)) }
        guard opcode == .text else { return body(.binary(payload)) }
        guard UTF8Check.isValid(payload) else {
            throw WebSocketFailure(closeCode: 1007, message: "text is not UTF-8")
        }
        body(.text(payload))
    }

    /// Whether the bytes may stand in a text message.
    public static func isText(_ bytes: UnsafeRawBufferPointer) -> Bool { UTF8Check.isValid(bytes) }

    private mutating func takeClose(_ payload: UnsafeRawBufferPointer, _ body: (WebSocketEvent) -> Void)
        throws(WebSocketFailure)
    {
        isClosed = true
        guard payload.count > 0 else { return body(.close(code: nil, reason: "")) }
        guard payload.count > 1 else { throw .protocolError("close code cut short") }
        let code = UInt16(payload[0]) << 8 | UInt16(payload[1])
        guard Self.isSendable(closeCode: code) else { throw .protocolError("close code \(code)") }
        let reason = UnsafeRawBufferPointer(rebasing: payload[2...])
        guard UTF8Check.isValid(reason) else {
            throw WebSocketFailure(closeCode: 1007, message: "close reason is not UTF-8")
        }
        body(.close(code: code, reason: String(decoding: reason, as: UTF8.self)))
    }

    /// Codes that may stand in a close frame (RFC 6455 §7.4 and the IANA registry).
    private static func isSendable(closeCode: UInt16) -> Bool {
        switch closeCode {
        case 1000...1003, 1007...1014, 3000...4999: true
        default: false
        }
    }
}
