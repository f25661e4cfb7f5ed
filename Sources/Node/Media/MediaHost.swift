import ChatModel
import ClusterRouting
import Gateway
import Media
import RoomProtocol
import Rooms
import ServerAPI
import Synchronization
import SystemGroupHost
import Telemetry
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
    private let avatars: AvatarLookups
    private let transfers: TransferShares
    private let asker: MediaAsker
    private let system: SystemGroup
    private let now: @Sendable () -> Timestamp

    init(
        _ store: any ContentStore, nodes: MediaNodes, calls: RoomCalls, keys: TokenKeys, seal: MediaSeal,
        allowances: UploadAllowances, transfers: TransferShares, metrics: MetricsRegistry,
        system: SystemGroup, now: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.nodes = nodes
        self.calls = calls
        self.keys = keys
        self.seal = Mutex(seal)
        self.system = system
        self.now = now
        self.allowances = allowances
        self.transfers = transfers
        let asker = MediaAsker(calls, store, metrics)
        self.asker = asker
        let start = ContinuousClock.now
        avatars = AvatarLookups(milliseconds: { UInt64((ContinuousClock.now - start) / .milliseconds(1)) }) { name in
            await asker.avatar(name)
        }
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
        let record = try await asker.status(of: id, in: room, for: nil).record
        guard record.digest == nil else { throw MediaRefusal(ChatError(.conflict, "\(id) has been sent already")) }
        guard length == record.draft.size else { throw .tooLarge }
        // An app server sends for many.
        guard let user = record.user else { return try await store.begin(id, in: room, record.draft) }
        try requireMaySend(user)
        let place = try transfers.take(.user(user))
        return SharedUploading(upload: try await store.begin(id, in: room, record.draft), place: place)
    }

    /// A place may be older than the ban or the mute.
    private func requireMaySend(_ user: UserID) throws(MediaRefusal) {
        guard let found = system.silencing(of: user) else { return }
        let refusal = found.sanction.refusal(of: user, found.kind, at: now())
        throw MediaRefusal(ChatError(.forbidden, refusal.message, retryAfterMs: refusal.retryAfterMs))
    }

    // MARK: - Sending past the cluster

    var isElsewhere: Bool { store.isElsewhere }

    func place(of ticket: UploadResult, _ draft: UploadDraft, in room: RoomID) -> MediaPlace? {
        store.place(for: draft, ticket.mediaID, in: room, until: ticket.expiresAt)
    }

    func settle(_ id: String, _ draft: UploadDraft, in room: RoomID) async throws(ChatError) {
        try await asker.settle(id, draft, in: room)
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

    func open(
        _ id: String, in room: RoomID, token: String?, bearer: String?, method: String, client: MediaClient
    ) async throws(MediaRefusal) -> MediaDelivery {
        let right = right(of: token) ?? right(of: bearer)
        if case .read(room, let reader)? = right {
            return try await open(id, in: room, for: reader, method: method)
        }
        let isAdministrator = right == nil ? await isAdministrator(bearer, of: room) : false
        guard right == .review(room, id) || isAdministrator else {
            return try await openAvatar(id, in: room, for: client, hasToken: right != nil, method: method)
        }
        let status = try await asker.status(of: id, in: room, for: nil)
        return try await deliver(id, status.record, in: room, method: method)
    }

    private func open(
        _ id: String, in room: RoomID, for reader: MediaReader, method: String
    ) async throws(MediaRefusal) -> MediaDelivery {
        let place = try transfers.take(.user(reader.user))
        if MediaID(id)?.isAvatar == true {
            return try await deliverAvatar(id, in: room, for: nil, method: method, place)
        }
        let status = try await asker.status(of: id, in: room, for: reader)
        guard status.isReaderHere else {
            throw MediaRefusal(ChatError(.forbidden, "the session is not in \(room)"))
        }
        return try await deliver(id, status.isReadable ? status.record : nil, in: room, method: method, place)
    }

    /// A stranger, without a right to the room, gets avatars, and for everything else a refusal that asks nobody.
    private func openAvatar(
        _ id: String, in room: RoomID, for client: MediaClient, hasToken: Bool, method: String
    ) async throws(MediaRefusal) -> MediaDelivery {
        // An avatar is never of two rooms.
        guard let known = MediaID(id), known.isAvatar, known.isOf(room) else {
            throw MediaRefusal(
                hasToken
                    ? ChatError(.forbidden, "this token is for something else")
                    : ChatError(.unauthorized, "a token of the room is needed: enter and mediaToken give it"))
        }
        let place = try transfers.take(.stranger(client))
        return try await deliverAvatar(id, in: room, for: client, method: method, place)
    }

    private func deliverAvatar(
        _ id: String, in room: RoomID, for client: MediaClient?, method: String, _ place: TransferShares.Place
    ) async throws(MediaRefusal) -> MediaDelivery {
        let name = AvatarLookups.Name(room: room, id: id)
        let record = try await avatars.record(name, for: client)
        do throws(MediaRefusal) {
            return try await deliver(id, record, in: room, method: method, place)
        } catch {
            // Its bytes may have gone with the room or with the next avatar.
            guard record != nil else { throw error }
            avatars.forget(name)
            let record = try await avatars.record(name, for: client)
            return try await deliver(id, record, in: room, method: method, place)
        }
    }

    /// - Parameter place: of the transfer; nil: it counts for nobody.
    private func deliver(
        _ id: String, _ record: UploadRecord?, in room: RoomID, method: String, _ place: TransferShares.Place? = nil
    ) async throws(MediaRefusal) -> MediaDelivery {
        guard let record, let digest = record.digest, let name = MediaName(room: room, id: id, digest: digest) else {
            throw MediaRefusal(ChatError(.notFound, "there is no such content"))
        }
        let delivery = try await store.open(name, record, method: method)
        guard let place, case .content(let content) = delivery else { return delivery }
        return .content(SharedReading(content: content, place: place))
    }

    /// An admin key reads all that it may read of the room.
    private func isAdministrator(_ bearer: String?, of room: RoomID) async -> Bool {
        guard let bearer, let administrator = try? await keys.administrator(bearer: bearer) else { return false }
        return administrator.mayReadContent(of: room)
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
        switch question {
        case .mediaUse(let user, let bytes):
            try await allowances.take(bytes, of: user)
            return .done
        case .mediaUses(let use): return .mediaUses(allowances.hear(use))
        default: return try await store.answer(question)
        }
    }

    /// Takes bytes from what a user may send today. One node counts for each user, whichever rooms he sends to.
    func takeUploadBytes(_ user: UserID, _ bytes: Int64) async throws(ChatError) {
        _ = try await nodes.nodes.ask(nodes.first(for: user.text), .mediaUse(user, bytes: bytes))
    }
}
