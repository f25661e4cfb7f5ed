import ChatModel
import ClientCore
import Wire

/// Content of the room that the cluster stores (PROTOCOL.md, "Media"). Only where `features` has `media`.
extension Chatroom {
    /// Sends content that messages of this room can name. A sending that breaks off is tried twice more, at the node where
    /// the client is then; one of which nothing is taken for two minutes is broken off. After an error call it again: it
    /// begins anew. Cancelling the task cancels the sending.
    /// - Parameter progress: told how many of the bytes are on their way, on any thread.
    /// - Returns: the ID by which a message names it; content that no message names in an hour goes.
    public func upload(
        _ content: [UInt8], kind: UploadKind, name: String, contentType: String, sha256: String? = nil,
        progress: @escaping @Sendable (_ sent: Int, _ all: Int) -> Void = { _, _ in }
    ) async throws(ClientError) -> String {
        let draft = UploadDraft(
            kind: kind, name: name, contentType: contentType, size: Int64(content.count), sha256: sha256)
        let request = UploadRequest(room: id, draft: draft, clientID: Self.freshID())
        guard case .upload(let place) = try await client.perform(.upload(request)) else { throw .mismatch }
        var transfer = try MediaTransfer(
            to: place.url, at: try await client.gatewayAddress(), client.configuration.settings,
            tls: client.configuration.tls, headers: place.headers.map { ($0.key, $0.value) }, content: content,
            progress: { progress($0, content.count) })
        try await transfer.runRepeatedly { [client] () async throws(ClientError) in
            switch await client.state {
            // Its node may have died with the upload: the client is somewhere else soon.
            case .lost, .connecting: try await client.connect()
            case .connected: break
            case .idle, .failed, .closed:
                throw ClientError(.notConnected, "the client stopped before the upload had arrived")
            }
            return try await client.gatewayAddress()
        }
        return place.mediaID
    }

    /// Sends content, and then a message that shows it: IMAGE, AUDIO, VIDEO or FILE.
    /// - Parameter describe: sets what only the sender knows of it, such as `width` and `height`, or a `thumbnailID`.
    @discardableResult
    public func sendMedia(
        _ content: [UInt8], kind: UploadKind, name: String, contentType: String,
        describe: (inout Media) -> Void = { _ in },
        progress: @escaping @Sendable (_ sent: Int, _ all: Int) -> Void = { _, _ in }
    ) async throws(ClientError) -> SendReceipt {
        let mediaID = try await upload(
            content, kind: kind, name: name, contentType: contentType, progress: progress)
        var media = Media(url: "", name: name, size: Int64(content.count), contentType: contentType)
        media.id = mediaID
        describe(&media)
        let body: MessageBody =
            switch kind {
            case .image: .image(media)
            case .audio: .audio(media)
            case .video: .video(media)
            case .file, .avatar: .file(media)
            }
        return try await send(MessageDraft(body: body))
    }

    /// The address at which this client can read content now: of a message's `media.url` or `media.thumbnail`. It holds for
    /// 10 minutes. Content of elsewhere is where its URL says.
    public func mediaURL(_ url: String) async throws(ClientError) -> String {
        guard MediaID.isPath(url) else { return url }
        guard case .mediaToken(let token) = try await client.perform(.mediaToken(RoomNameRequest(room: id))) else {
            throw .mismatch
        }
        let address = try await client.gatewayAddress()
        return "\(address.isSecure ? "https" : "http")://\(address.authority)\(url)?token=\(token.token)"
    }
}
