import ChatModel

/// The content of one WebSocket message from a client: one or more requests.
public enum ClientFrame {
    /// Reads the JSON objects of a text frame, separated by `\n` or other white space, all of them: see
    /// ``ClientFrameReader``.
    public static func requests(
        inJSON bytes: UnsafeRawBufferPointer, _ body: (Result<ClientRequest, RequestFailure>) -> Void
    ) { requests(in: bytes, .json, body) }

    /// Reads the length-delimited messages of a binary frame, all of them: see ``ClientFrameReader``.
    public static func requests(
        inProtobuf bytes: UnsafeRawBufferPointer, _ body: (Result<ClientRequest, RequestFailure>) -> Void
    ) { requests(in: bytes, .protobuf, body) }

    private static func requests(
        in bytes: UnsafeRawBufferPointer, _ encoding: ClientEncoding,
        _ body: (Result<ClientRequest, RequestFailure>) -> Void
    ) {
        var reader = ClientFrameReader(encoding)
        while let request = reader.next(in: bytes) { body(request) }
    }

    /// Whether the first request of the frame is a `connect`, be it a right one or not.
    public static func beginsWithConnect(_ bytes: UnsafeRawBufferPointer, _ encoding: ClientEncoding) -> Bool {
        var reader = ClientFrameReader(encoding)
        return switch reader.next(in: bytes) {
        case .success(let request): if case .connect = request.operation { true } else { false }
        case .failure(let failure): failure.isOfConnect
        case nil: false
        }
    }
}

/// Reads the requests of one frame one at a time, so that whoever reads can stop between two of them and go on later with
/// the rest of the bytes. Limits are enforced. Each byte is looked at a bounded number of times.
public struct ClientFrameReader {
    private let encoding: ClientEncoding
    /// How many requests of the frame have been read, right ones and others.
    public private(set) var count: Int
    /// The first byte that has not been read.
    public private(set) var position: Int
    /// Requests behind text that is not JSON, or behind a message that is cut short, can't be told apart.
    private var isBroken = false
    private var document = JSONDocument()

    /// - Parameters:
    ///   - position: where to go on in the bytes, as another reader has told it.
    ///   - count: how many requests of the frame have been read before.
    public init(_ encoding: ClientEncoding, position: Int = 0, count: Int = 0) {
        self.encoding = encoding
        self.position = position
        self.count = count
    }

    /// Whether there is something to read; an empty frame has nothing, and still is a request, a broken one.
    public func hasMore(in bytes: UnsafeRawBufferPointer) -> Bool {
        guard !isBroken else { return false }
        return switch encoding {
        case .json: JSONDocument.skipSpace(bytes, from: position) < bytes.count
        case .protobuf: position < bytes.count
        }
    }

    /// The next request; nil at the end. Text that is not JSON and a broken length give one failure without ID, and
    /// nothing after it is read.
    /// - Parameter bytes: the same for each call.
    public mutating func next(in bytes: UnsafeRawBufferPointer) -> Result<ClientRequest, RequestFailure>? {
        guard hasMore(in: bytes) else {
            guard count == 0 else { return nil }
            return broken(.malformed("the frame is empty"))
        }
        count += 1
        switch encoding {
        case .json: return nextObject(in: bytes)
        case .protobuf: return nextMessage(in: bytes)
        }
    }

    private mutating func broken(_ error: ChatError) -> Result<ClientRequest, RequestFailure> {
        count = max(1, count)
        isBroken = true
        return .failure(RequestFailure(id: nil, error: error))
    }

    private mutating func nextObject(in bytes: UnsafeRawBufferPointer) -> Result<ClientRequest, RequestFailure> {
        do throws(ChatError) {
            position = try document.parse(bytes, from: position)
            return try document.read(enforcesLimits: true) { value throws(ChatError) in
                guard var reader = try? value.object() else { throw .malformed("a frame holds objects") }
                return Self.request(&reader)
            }
        } catch { return broken(error) }
    }

    private mutating func nextMessage(in bytes: UnsafeRawBufferPointer) -> Result<ClientRequest, RequestFailure> {
        guard let length = Varint.read(bytes, at: &position), length <= UInt64(bytes.count - position) else {
            return broken(.malformed("not protobuf: a message is cut short"))
        }
        let end = position + Int(truncatingIfNeeded: length)
        let content = UnsafeRawBufferPointer(rebasing: bytes[position..<end])
        position = end
        do throws(ChatError) {
            var reader = try ProtobufReader(content, rules: .limits)
            return Self.request(&reader)
        } catch { return .failure(RequestFailure(id: nil, error: error)) }
    }

    private static func request<W: RequestWalker>(_ reader: inout W) -> Result<ClientRequest, RequestFailure> {
        let start = reader
        var request = ClientRequest.blank
        do throws(ChatError) { try request.walkID(&reader) } catch {
            return .failure(RequestFailure(id: nil, error: error))
        }
        do throws(ChatError) {
            try request.walkOperation(&reader)
            return .success(request)
        } catch {
            var failure = RequestFailure(id: request.id, error: error)
            failure.isOfConnect = start.names(OperationDeclaration.connect.number, OperationDeclaration.connect.name)
            failure.isUnanswered =
                request.id == nil && error.code != .malformed
                && OperationDeclaration.unanswered.contains { start.names($0.number, $0.name) }
            // Without any operation that this version knows, but with one of another.
            failure.isUnknownOperation = error == ClientRequest.noKnownOperation && start.namesMore(than: 1, "id")
            return .failure(failure)
        }
    }
}

/// A reader of requests, which tells what they name without reading it.
protocol RequestWalker: FieldWalker {
    /// Whether the field is there.
    func names(_ number: Int, _ name: StaticString) -> Bool
    /// Whether any other field is there.
    func namesMore(than number: Int, _ name: StaticString) -> Bool
}

extension ClientRequest {
    /// Appends the request as one JSON object; the caller puts `\n` between objects of a frame.
    public func appendJSON(to bytes: inout [UInt8]) { WireJSON.append(self, to: &bytes) }

    /// Appends the request as one length-delimited protobuf message.
    public func appendProtobuf(to bytes: inout [UInt8]) { WireProtobuf.appendDelimited(self, to: &bytes) }
}
