import ChatModel
import ClusterRouting
import Cryptography
import Gateway
import Media
import RoomProtocol
import Rooms
import ServerAPI
import Synchronization
import SystemGroupHost
import Wire

/// The content of rooms on this node (PROTOCOL.md, "Media"): tokens, places, and the way of bytes from and to the nodes
/// that store them. Rooms know what there is; the store knows bytes.
final class MediaHost: MediaService, RoomMedia {
    let node: NodeID
    let store: MediaStore
    let nodes: ClusterNodes
    let calls: RoomCalls
    private let system: SystemGroup
    private let keys: TokenKeys
    private let seal: Mutex<MediaSeal>
    private let allowances: UploadAllowances
    /// The newest sending to each place; as many as there are transfers.
    private let current = Mutex<[String: ObjectIdentifier]>([:])
    private let now: @Sendable () -> Timestamp
    /// Pieces to other nodes at a time: they share a lane of the link with the calls of sessions.
    let pieces = PieceGate(limit: 16)

    init(
        node: NodeID, store: MediaStore, nodes: ClusterNodes, calls: RoomCalls, system: SystemGroup, keys: TokenKeys,
        seal: MediaSeal, bytesPerUserAndDay: Int64, now: @escaping @Sendable () -> Timestamp
    ) {
        self.node = node
        self.store = store
        self.nodes = nodes
        self.calls = calls
        self.system = system
        self.keys = keys
        self.seal = Mutex(seal)
        self.now = now
        allowances = UploadAllowances(bytesPerDay: bytesPerUserAndDay)
    }

    func use(_ seal: MediaSeal) { self.seal.withLock { $0 = seal } }

    /// The name of one sending that is of no place.
    static func freshTransfer() -> String { Hexadecimal.encode(SecureRandom.bytes(16)) }

    /// The name of what is sent to a place: one that begins anew takes the former's, everywhere, so that nobody fills disks by
    /// beginning again and again.
    static func transfer(of mediaID: String) -> String {
        Hexadecimal.encode(Array(SHA256.digest(of: Array(mediaID.utf8)).prefix(16)))
    }

    // MARK: - Places

    /// The nodes that store content, as the cluster lists them.
    private var dataNodes: [NodeID] {
        let listed = system.nodes.filter { $0.role == .data }
        let staying = listed.filter { !$0.isDraining }
        return (staying.isEmpty ? listed : staying).map(\.node)
    }

    /// Those of them that can be asked now.
    var reachedNodes: [NodeID] {
        let reached = nodes.reached
        return dataNodes.filter { $0 == node || reached.contains($0) }
    }

    /// On how many nodes content has to be.
    var copies: Int { max(1, min(MediaPlaces.copies, dataNodes.count)) }

    /// The nodes that are to store the content now; nil where not enough of them can be reached.
    func places(of id: String) -> [NodeID]? {
        let order = MediaPlaces.order(of: id, among: reachedNodes).prefix(copies)
        return order.count == copies ? Array(order) : nil
    }

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
        guard let places = places(of: id) else {
            throw MediaRefusal(
                ChatError(.unavailable, "not enough nodes that store media can be reached", retryAfterMs: 2000))
        }
        let uploading = MediaUploading(self, id, in: room, status.record.draft, to: places)
        current.withLock { $0[id] = ObjectIdentifier(uploading) }
        return uploading
    }

    /// The sending is over. Returns whether no later one to the same place has begun here.
    func end(_ uploading: MediaUploading, of id: String) -> Bool {
        current.withLock { current in
            guard current[id] == ObjectIdentifier(uploading) else { return false }
            current[id] = nil
            return true
        }
    }

    /// Whether a sending to that place has begun here, and is not over.
    func isSending(_ id: String) -> Bool { current.withLock { $0[id] != nil } }

    /// Takes the next piece to one place.
    func write(_ piece: MediaPiece, to place: NodeID) async -> MediaOutcome {
        guard place != node else {
            return await store.write(piece.transfer, offset: piece.offset, size: piece.size, piece.bytes)
        }
        return await pieces.pass { await outcome(of: .mediaWrite(piece), at: place) }
    }

    func finish(_ transfer: String, as name: MediaName, size: Int64, at place: NodeID) async -> MediaOutcome {
        guard place != node else { return await store.finish(transfer, as: name, size: size) }
        let file = MediaFile(room: name.room, id: name.id, digest: name.digest)
        return await outcome(of: .mediaFinish(file, transfer: transfer, size: size), at: place)
    }

    private func outcome(of question: NodeQuestion, at place: NodeID) async -> MediaOutcome {
        guard case .count(let status)? = try? await nodes.ask(place, question) else { return .unavailable }
        return MediaOutcome(rawValue: status) ?? .unavailable
    }

    // MARK: - Reading

    func open(_ id: String, in room: RoomID, token: String?, bearer: String?) async throws(MediaRefusal)
        -> any MediaContent
    {
        let right = right(of: token) ?? right(of: bearer)
        var reader: MediaReader?
        if case .read(room, let session)? = right { reader = session }
        let isReview = right == .review(room, id)
        let isAdministrator = right == nil ? await isAdministrator(bearer, of: room) : false
        let status = try await status(of: id, in: room, for: reader)
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
        guard let digest = status.record.digest, status.isReadable || isReview || isAdministrator,
            let name = MediaName(room: room, id: id, digest: digest)
        else { throw MediaRefusal(ChatError(.notFound, "there is no such content")) }
        guard let place = await place(having: name, size: status.record.draft.size) else {
            throw MediaRefusal(
                ChatError(.unavailable, "no node that has the content can be reached", retryAfterMs: 2000))
        }
        return MediaReading(self, name, status.record, at: place)
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

    /// A node that has the content, this one before others.
    private func place(having name: MediaName, size: Int64) async -> NodeID? {
        if await store.size(of: name) == size { return node }
        for other in MediaPlaces.order(of: name.id, among: reachedNodes) where other != node {
            if await has(name, other) == true { return other }
        }
        return nil
    }

    /// nil when the node does not say.
    func has(_ name: MediaName, _ other: NodeID) async -> Bool? {
        guard other != node else { return await store.size(of: name) != nil }
        let file = MediaFile(room: name.room, id: name.id, digest: name.digest)
        guard case .count(let count)? = try? await nodes.ask(other, .mediaHas(file)) else { return nil }
        return count == 1
    }

    func read(_ name: MediaName, at offset: Int64, count: Int, from place: NodeID) async -> [UInt8]? {
        let count = min(count, MediaPiece.bytesMax)
        guard place != node else { return await store.read(name, offset: offset, count: count) }
        let file = MediaFile(room: name.room, id: name.id, digest: name.digest)
        return await pieces.pass {
            guard case .bytes(let bytes)? = try? await nodes.ask(place, .mediaRead(file, offset: offset, count: count))
            else { return nil }
            return bytes
        }
    }

    // MARK: - For rooms

    func reviewURL(of mediaID: String, in room: RoomID) -> String {
        let token = token(.review(room, mediaID), until: now().adding(seconds: Limits.mediaTokenSeconds))
        return "\(MediaID.path(mediaID, in: room))?token=\(token)"
    }

    func share(_ mediaID: String, of room: RoomID, with other: RoomID) async -> UploadRecord? {
        guard let status = try? await calls.media(mediaID, in: room, for: nil), status.isReadable,
            let digest = status.record.digest, let places = places(of: mediaID)
        else { return nil }
        let file = MediaFile(room: room, id: mediaID, digest: digest)
        for place in places {
            guard case .count(let outcome)? = try? await nodes.ask(place, .mediaLink(file, to: other)),
                MediaOutcome(rawValue: outcome) == .stored
            else { return nil }
        }
        return status.record
    }

    // MARK: - Answers to other nodes

    /// Questions about content.
    func answer(_ question: NodeQuestion) async throws(ChatError) -> NodeAnswer {
        switch question {
        case .mediaWrite(let piece):
            guard piece.bytes.count <= MediaPiece.bytesMax else { throw ChatError(.tooLarge, "the piece is too large") }
            let outcome = await store.write(
                piece.transfer, offset: piece.offset, size: piece.size, piece.bytes)
            return .count(outcome.rawValue)
        case .mediaFinish(let file, let transfer, let size):
            return .count(await store.finish(transfer, as: try name(of: file), size: size).rawValue)
        case .mediaRead(let file, let offset, let count):
            guard (1...MediaPiece.bytesMax).contains(count) else {
                throw ChatError(.badParameter, "so many bytes are no piece")
            }
            guard let bytes = await store.read(try name(of: file), offset: offset, count: count) else {
                throw ChatError(.notFound, "the content is not here")
            }
            return .bytes(bytes)
        case .mediaHas(let file): return .count(await store.size(of: try name(of: file)) == nil ? 0 : 1)
        case .mediaLink(let file, let room):
            return .count(await store.share(try name(of: file), with: room).rawValue)
        case .mediaUse(let user, let bytes):
            try allowances.take(bytes, of: user, at: now())
            return .done
        default: throw ChatError(.internal, "this is no question about content")
        }
    }

    private func name(of file: MediaFile) throws(ChatError) -> MediaName {
        guard let name = MediaName(room: file.room, id: file.id, digest: file.digest) else {
            throw ChatError(.badParameter, "these are no names of content")
        }
        return name
    }

    /// Takes bytes from what a user may send today. One node counts for each user, whichever rooms he sends to.
    func takeUploadBytes(_ user: UserID, _ bytes: Int64) async throws(ChatError) {
        let counting = MediaPlaces.order(of: user.text, among: reachedNodes).first ?? node
        _ = try await nodes.ask(counting, .mediaUse(user, bytes: bytes))
    }
}
