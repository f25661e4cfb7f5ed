import ChatModel
import ClusterRouting
import Gateway
import Media
import RoomProtocol
import Rooms
import ServerAPI
import Synchronization
import Wire

/// The content of rooms on this node (PROTOCOL.md, "Media"): tokens, rights, and how much users may send. Rooms know what there
/// is; the store knows bytes.
final class MediaHost: MediaService, RoomMedia {
    let store: any ContentStore
    private let nodes: MediaNodes
    private let calls: RoomCalls
    private let keys: TokenKeys
    private let seal: Mutex<MediaSeal>
    private let allowances: UploadAllowances
    private let now: @Sendable () -> Timestamp

    init(
        _ store: any ContentStore, nodes: MediaNodes, calls: RoomCalls, keys: TokenKeys, seal: MediaSeal,
        bytesPerUserAndDay: Int64, now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.nodes = nodes
        self.calls = calls
        self.keys = keys
        self.seal = Mutex(seal)
        self.now = now
        allowances = UploadAllowances(bytesPerDay: bytesPerUserAndDay)
    }

    /// The key to a store elsewhere has changed.
    func use(_ signer: S3Signer) { (store as? S3Media)?.client.use(signer) }

    func use(_ seal: MediaSeal) { self.seal.withLock { $0 = seal } }

    // MARK: - Tokens

    func readToken(in room: RoomID, for reader: MediaReader) -> MediaToken {
        let end = now().adding(seconds: Limits.mediaTokenSeconds)
        return MediaToken(token: token(.read(room, reader), until: end), expiresAt: end)
    }

    func uploadURL(of ticket: UploadResult, in room: RoomID) -> String {
        let token = token(.write(room, ticket.mediaID), until: ticket.expiresAt)
        return "\(MediaID.path(ticket.mediaID, in: room))?upload=\(token)"
    }

    private func token(_ right: MediaSeal.Right, until end: Timestamp) -> String {
        seal.withLock { $0 }.token(right, until: end)
    }

    private func right(of token: String?) -> MediaSeal.Right? {
        let (seal, now) = (seal.withLock { $0 }, now())
        return token.flatMap { seal.open($0, at: now) }
    }

    // MARK: - Sending

    func begin(_ id: String, in room: RoomID, token: String?, length: Int64) async throws(MediaRefusal)
        -> any MediaUpload
    {
        guard right(of: token) == .write(room, id) else {
            throw MediaRefusal(ChatError(.forbidden, "this URL does not hold, or not any more"))
        }
        let status = try await status(of: id, in: room, for: nil)
        guard status.record.digest == nil else {
            throw MediaRefusal(ChatError(.conflict, "\(id) has been sent already"))
        }
        guard length == status.record.draft.size else { throw .tooLarge }
        return try await store.begin(id, in: room, status.record.draft)
    }

    // MARK: - Sending past the cluster

    var isElsewhere: Bool { store.isElsewhere }

    func place(of ticket: UploadResult, _ draft: UploadDraft, in room: RoomID) -> MediaPlace? {
        store.place(for: draft, ticket.mediaID, in: room, until: ticket.expiresAt)
    }

    func settle(_ id: String, _ draft: UploadDraft, in room: RoomID) async throws(ChatError) {
        let found: SettledContent?
        do throws(StoreFailure) {
            found = try await store.settled(id, in: room, draft)
        } catch {
            throw error.chatError
        }
        if let found { try await note(found, of: id, in: room) }
    }

    /// The room learns what has been sent; where nothing was, it says so itself.
    private func note(_ found: SettledContent, of id: String, in room: RoomID) async throws(ChatError) {
        do throws(ChatError) {
            _ = try await calls.perform(
                .completeUpload(mediaID: id, digest: found.digest, isInline: found.isInline), in: room, as: .system,
                id: nil)
        } catch {
            // Another asker was faster, and its bytes count.
            guard error.code == .conflict else { throw error }
        }
    }

    /// The answer to the app server, with the place to which it sends.
    func completed(_ ticket: UploadResult, in room: RoomID) async throws(ChatError) -> UploadResult {
        var ticket = ticket
        guard isElsewhere else {
            ticket.url = uploadURL(of: ticket, in: room)
            return ticket
        }
        let draft = try await calls.media(ticket.mediaID, in: room, for: nil).record.draft
        if let place = place(of: ticket, draft, in: room) { ticket.take(place) }
        return ticket
    }

    // MARK: - Reading

    func open(_ id: String, in room: RoomID, token: String?, bearer: String?, method: String)
        async throws(MediaRefusal) -> MediaDelivery
    {
        let right = right(of: token) ?? right(of: bearer)
        var reader: MediaReader?
        if case .read(room, let session)? = right { reader = session }
        let isReview = right == .review(room, id)
        let isAdministrator = right == nil ? await isAdministrator(bearer, of: room) : false
        var status = try await status(of: id, in: room, for: reader)
        let isAvatar = status.record.draft.kind == .avatar
        if !isAvatar, !isReview, !isAdministrator {
            guard reader != nil else {
                throw MediaRefusal(
                    right == nil
                        ? ChatError(.unauthorized, "a token of the room is needed: enter and mediaToken give it")
                        : ChatError(.forbidden, "this token is for something else"))
            }
            guard status.isReaderHere else {
                throw MediaRefusal(ChatError(.forbidden, "the session is not in \(room)"))
            }
        }
        if isAvatar, isElsewhere, status.record.digest == nil {
            // No message names it, so nobody has asked for it before.
            let found: SettledContent?
            do throws(StoreFailure) {
                found = try await store.settled(id, in: room, status.record.draft)
            } catch {
                throw error.refusal
            }
            do throws(ChatError) {
                if let found { try await note(found, of: id, in: room) }
            } catch {
                throw MediaRefusal(error)
            }
            status = try await self.status(of: id, in: room, for: reader)
        }
        guard let digest = status.record.digest, status.isReadable || isReview || isAdministrator,
            let name = MediaName(room: room, id: id, digest: digest)
        else { throw MediaRefusal(ChatError(.notFound, "there is no such content")) }
        return try await store.open(name, status.record, method: method)
    }

    /// An admin key reads all that it may read of the room.
    private func isAdministrator(_ bearer: String?, of room: RoomID) async -> Bool {
        guard let bearer, let administrator = try? await keys.administrator(bearer: bearer) else { return false }
        return administrator.mayReadContent(of: room)
    }

    private func status(of id: String, in room: RoomID, for reader: MediaReader?) async throws(MediaRefusal)
        -> MediaStatus
    {
        do throws(ChatError) {
            return try await calls.media(id, in: room, for: reader)
        } catch {
            throw MediaRefusal(error)
        }
    }

    // MARK: - For rooms

    func reviewURL(of mediaID: String, in room: RoomID) -> String {
        let token = token(.review(room, mediaID), until: now().adding(seconds: Limits.mediaTokenSeconds))
        return "\(MediaID.path(mediaID, in: room))?token=\(token)"
    }

    func share(_ mediaID: String, of room: RoomID, with other: RoomID) async -> UploadRecord? {
        guard let status = try? await calls.media(mediaID, in: room, for: nil), status.isReadable,
            let digest = status.record.digest, let name = MediaName(room: room, id: mediaID, digest: digest),
            await store.share(name, status.record, with: other)
        else { return nil }
        return status.record
    }

    // MARK: - Answers to other nodes

    /// Questions about content.
    func answer(_ question: NodeQuestion) async throws(ChatError) -> NodeAnswer {
        guard case .mediaUse(let user, let bytes) = question else { return try await store.answer(question) }
        try allowances.take(bytes, of: user, at: now())
        return .done
    }

    /// Takes bytes from what a user may send today. One node counts for each user, whichever rooms he sends to.
    func takeUploadBytes(_ user: UserID, _ bytes: Int64) async throws(ChatError) {
        _ = try await nodes.nodes.ask(nodes.first(for: user.text), .mediaUse(user, bytes: bytes))
    }
}
