import ChatModel
import EventLoop
import HTTPWebSocket
import RoomProtocol
import SessionCore
import Synchronization
import Telemetry
import Transport
import Wire

/// Content on the client port (PROTOCOL.md, "Media").
extension GatewayLane {
    /// - Parameter body: the bytes that came with the head.
    /// - Returns: false when the request is for something else.
    func answerMedia(_ request: UpgradeRequest, body: UnsafeRawBufferPointer, _ connection: ClientConnection) -> Bool {
        guard request.path.utf8.starts(with: MediaRequest.prefix.utf8) else { return false }
        let origin = request.header("origin")
        guard isAllowed(request, of: connection) else {
            connection.refuseHandshake(HTTPResponse.plain(status: 403, reason: "Forbidden"))
            return true
        }
        let answer = MediaAnswer(origin: origin)
        func refuse(_ error: ChatError) -> Bool {
            connection.refuseHandshake(answer.refusal(MediaRefusal(error)))
            return true
        }
        guard let media = MediaRequest(request) else { return refuse(ChatError(.notFound, "there is no such content")) }
        if request.method == "OPTIONS" {
            connection.refuseHandshake(answer.preflight())
            return true
        }
        guard ["GET", "HEAD", "PUT"].contains(request.method) else {
            let allow = HTTPHeader(name: "Allow", value: "GET, HEAD, PUT, OPTIONS")
            connection.refuseHandshake(
                HTTPResponse.plain(status: 405, reason: "Method Not Allowed", headers: [allow]))
            return true
        }
        guard let service = shared.media.withLock({ $0 }) else {
            return refuse(ChatError(.unavailable, "this node is still starting", retryAfterMs: 1000))
        }
        if connection.places.holder == nil, connection.noPlace == nil {
            claim(proxies.client(of: connection.address, request), for: connection)
        }
        guard connection.noPlace == nil, shared.transfers.value < configuration.transfersMax else {
            return refuse(ChatError(.unavailable, "too many transfers at once", retryAfterMs: 2000))
        }
        connection.phase = .transferring
        connection.connectDeadlineMilliseconds = nil
        if request.method == "PUT" {
            let receiving = MediaReceiving(media, service, connection: connection, answer: answer)
            connection.tcp.handler = receiving
            receiving.start(with: body)
        } else {
            send(media, service, connection: connection, answer: answer)
        }
        return true
    }

    private func send(
        _ request: MediaRequest, _ service: any MediaService, connection: ClientConnection, answer: MediaAnswer
    ) {
        // Until it is open the socket is its client's, and is cut off with it; it counts as a transfer already.
        shared.transfers.add()
        let me = LoopBound(onLoop: self, loop: loop)
        let number = connection.number
        let client = MediaClient(connection.address)
        Task {
            let result: Result<MediaDelivery, MediaRefusal>
            do throws(MediaRefusal) {
                result = .success(
                    try await service.open(
                        request.id, in: request.room, token: request.token, bearer: request.bearer,
                        method: request.method, client: client))
            } catch {
                result = .failure(error)
            }
            me.loop.execute { me.value.opened(result, request, answer: answer, number: number) }
        }
    }

    private func opened(
        _ result: Result<MediaDelivery, MediaRefusal>, _ request: MediaRequest, answer: MediaAnswer,
        number: UInt64
    ) {
        shared.transfers.add(-1)
        // It may have ended meanwhile.
        guard let connection = connections[number], case .transferring = connection.phase else { return }
        switch result {
        case .success(.redirect(let url)): connection.refuseHandshake(answer.redirect(to: url))
        case .success(.content(let content)):
            let (head, part) = answer.head(of: content, request)
            let sending = MediaSending(content, part ?? 0..<0, connection: connection, answer: answer)
            connection.tcp.handler = sending
            sending.write(head)
        case .failure(let refusal): connection.refuseHandshake(answer.refusal(refusal))
        }
    }

    // MARK: - Rights

    /// Whether all nodes of the cluster serve content, and this one does.
    private var media: (any MediaService)? {
        guard shared.features.withLock({ $0.contains(Feature.media.clientName ?? "") }) else { return nil }
        return shared.media.withLock { $0 }
    }

    /// The answer of a room, with what only a gateway can make.
    func completed(_ result: OperationResult, of room: RoomID, for session: LaneSession) -> OperationResult {
        switch result {
        case .upload(var upload):
            // A store elsewhere has its own.
            guard let media, upload.url.isEmpty else { return result }
            upload.url = media.uploadURL(of: upload, in: room)
            return .upload(upload)
        case .mediaToken:
            return readToken(of: room, for: session).map { .mediaToken($0) } ?? result
        default: return result
        }
    }

    func readToken(of room: RoomID, for session: LaneSession) -> MediaToken? {
        media?.readToken(
            in: room, for: MediaReader(user: session.state.caller.user, session: session.id))
    }
}
