import ChatModel

/// What comes in one WebSocket message from a client: one or more requests.
///
/// A frame may hold thousands of requests; `body` is called once for each, in order, so the caller bounds the work.
public enum ClientFrame {
    /// Reads the JSON objects of a text frame, separated by `\n` or other white space. Text that is not JSON gives one
    /// failure without ID, and nothing after it is read. Limits are enforced.
    public static func requests(
        inJSON bytes: UnsafeRawBufferPointer, _ body: (Result<ClientRequest, RequestFailure>) -> Void
    ) {
        JSONFrame.forEachObject(bytes, enforcesLimits: true) { object in
            switch object {
            case .success(var reader): body(request(&reader))
            case .failure(let error): body(.failure(RequestFailure(id: nil, error: error)))
            }
        }
    }

    /// Reads the length-delimited messages of a binary frame. A broken length gives one failure without ID, and nothing
    /// after it is read. Limits are enforced.
    public static func requests(
        inProtobuf bytes: UnsafeRawBufferPointer, _ body: (Result<ClientRequest, RequestFailure>) -> Void
    ) {
        ProtobufFrame.forEachMessage(bytes, enforcesLimits: true) { message in
            switch message {
            case .success(var reader): body(request(&reader))
            case .failure(let error): body(.failure(RequestFailure(id: nil, error: error)))
            }
        }
    }

    private static func request<W: FieldWalker>(_ reader: inout W) -> Result<ClientRequest, RequestFailure> {
        var request = ClientRequest.blank
        do throws(ChatError) {
            try request.walkID(&reader)
            try request.walkOperation(&reader)
            return .success(request)
        } catch {
            return .failure(RequestFailure(id: request.id == 0 ? nil : request.id, error: error))
        }
    }
}

extension ClientRequest {
    /// Appends the request as one JSON object; the caller puts `\n` between objects of a frame.
    public func appendJSON(to bytes: inout [UInt8]) { WireJSON.append(self, to: &bytes) }

    /// Appends the request as one length-delimited protobuf message.
    public func appendProtobuf(to bytes: inout [UInt8]) { WireProtobuf.appendDelimited(self, to: &bytes) }
}
