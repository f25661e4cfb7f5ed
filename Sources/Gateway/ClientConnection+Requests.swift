import ChatModel
import SessionCore
import Telemetry
import Wire

/// Frames become requests, which the lane handles one by one.
extension ClientConnection {
    func takeFrame(_ bytes: UnsafeRawBufferPointer) {
        if session == nil, bytes.count > Limits.unconnectedFrameBytes,
            !ClientFrame.beginsWithConnect(bytes, encoding)
        {
            return close(.tooBig, "a frame of more than \(Limits.unconnectedFrameBytes) bytes before connect")
        }
        var reader = ClientFrameReader(encoding)
        guard takeRequests(in: bytes, with: &reader) else { return }
        unfinished = UnfinishedFrame(bytes: Array(bytes[reader.position...]), count: reader.count)
        pauseReading()
    }

    /// Takes the requests of a frame one by one, as long as they may be.
    /// - Returns: whether the rest of them must wait.
    private func takeRequests(in bytes: UnsafeRawBufferPointer, with reader: inout ClientFrameReader) -> Bool {
        while mayTake, let request = reader.next(in: bytes) {
            guard reader.count <= lane.configuration.requestsPerFrameMax else {
                refuseMore(request)
                return false
            }
            take(request)
        }
        guard case .open = phase else { return false }
        return reader.hasMore(in: bytes)
    }

    /// Goes on with the frame that was not finished.
    func takeUnfinished() {
        guard var frame = unfinished else { return }
        unfinished = nil
        var reader = ClientFrameReader(encoding, position: frame.position, count: frame.count)
        guard frame.bytes.withUnsafeBytes({ takeRequests(in: $0, with: &reader) }) else { return }
        (frame.position, frame.count) = (reader.position, reader.count)
        unfinished = frame
        pauseReading()
    }

    /// A frame holds more requests than it may (PROTOCOL.md, "Frames").
    private func refuseMore(_ request: Result<ClientRequest, RequestFailure>) {
        let id =
            switch request {
            case .success(let request): request.id
            case .failure(let failure): failure.id
            }
        reply(
            id,
            error: ChatError(
                .badParameter, "a frame holds at most \(lane.configuration.requestsPerFrameMax) requests"))
        close(.policyViolation, "too many requests in a frame")
    }

    private func take(_ result: Result<ClientRequest, RequestFailure>) {
        switch result {
        case .success(let request):
            malformedInARow = 0
            lane.handle(request, from: self)
        case .failure(let failure): take(failure)
        }
    }

    private func take(_ failure: RequestFailure) {
        if failure.isUnknownOperation {
            malformedInARow = 0
            if failure.id != nil { reply(failure.id, error: failure.error) }
            return
        }
        if failure.error.code == .malformed {
            lane.shared.figures.malformed.add()
            malformedInARow += 1
        } else {
            malformedInARow = 0
        }
        if session == nil, failure.isOfConnect, failure.error.code == .tooLarge, failure.error.field == "token" {
            return lane.refuse(failure.error, failure.id, self)
        }
        // Nobody waits for the answer to a tap without an ID, be it a wrong one.
        if !failure.isUnanswered { reply(failure.id, error: failure.error) }
        if malformedInARow >= Self.malformedMax { close(.policyViolation, "too many malformed requests") }
    }

    /// The tenth malformed request in a row closes the connection (PROTOCOL.md, "Malformed requests").
    private static let malformedMax = 10
}
