import ChatModel
import ClusterRouting
import Cryptography
import Gateway
import Logging
import Media
import RoomProtocol
import Rooms
import Synchronization

/// The store `local`: content as files of the data nodes, on two of them where there are two. Bytes come and go through gateways,
/// and travel between nodes in pieces.
final class LocalMedia: ContentStore {
    let node: NodeID
    let store: MediaStore
    let nodes: MediaNodes
    let calls: RoomCalls
    let logger: Logger
    let keeping = Mutex(Keeping())
    /// The newest sending to each place; as many as there are transfers.
    private let current = Mutex<[String: ObjectIdentifier]>([:])
    /// Pieces to one other node at a time: they share a lane of the link with the calls of sessions.
    private let pieces = PieceGates(limit: 16)

    var isElsewhere: Bool { false }

    init(_ store: MediaStore, nodes: MediaNodes, calls: RoomCalls, logger: Logger) {
        node = nodes.node
        self.store = store
        self.nodes = nodes
        self.calls = calls
        self.logger = logger
    }

    /// The name of one sending that is of no place.
    static func freshTransfer() -> String { Hexadecimal.encode(SecureRandom.bytes(16)) }

    /// The name of what is sent to a place: one that begins anew takes the former's, everywhere, so that nobody fills disks by
    /// beginning again and again.
    static func transfer(of mediaID: String) -> String {
        Hexadecimal.encode(Array(SHA256.digest(of: Array(mediaID.utf8)).prefix(16)))
    }

    // MARK: - Sending

    func place(for draft: UploadDraft, _ id: String, in room: RoomID, until end: Timestamp) -> MediaPlace? { nil }

    func settled(_ id: String, in room: RoomID, _ draft: UploadDraft) async throws(StoreFailure) -> SettledContent? {
        nil
    }

    func begin(_ id: String, in room: RoomID, _ draft: UploadDraft) async throws(MediaRefusal) -> any MediaUpload {
        guard let places = nodes.places(of: id) else {
            throw MediaRefusal(
                ChatError(.unavailable, "not enough nodes that store media can be reached", retryAfterMs: 2000))
        }
        let uploading = MediaUploading(self, id, in: room, draft, to: places)
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
        return await pieces[place].pass { await outcome(of: .mediaWrite(piece), at: place) }
    }

    func finish(_ transfer: String, as name: MediaName, size: Int64, at place: NodeID) async -> MediaOutcome {
        guard place != node else { return await store.finish(transfer, as: name, size: size) }
        return await outcome(of: .mediaFinish(Self.file(name), transfer: transfer, size: size), at: place)
    }

    private func outcome(of question: NodeQuestion, at place: NodeID) async -> MediaOutcome {
        guard case .count(let status)? = try? await nodes.nodes.ask(place, question) else { return .unavailable }
        return MediaOutcome(rawValue: status) ?? .unavailable
    }

    private static func file(_ name: MediaName) -> MediaFile {
        MediaFile(room: name.room, id: name.id, digest: name.digest)
    }

    // MARK: - Reading

    func open(_ name: MediaName, _ record: UploadRecord, method: String) async throws(MediaRefusal) -> MediaDelivery {
        guard let place = await place(having: name, size: record.draft.size) else {
            throw MediaRefusal(
                ChatError(.unavailable, "no node that has the content can be reached", retryAfterMs: 2000))
        }
        return .content(MediaReading(self, name, record, at: place))
    }

    /// A node that has the content, this one before others.
    private func place(having name: MediaName, size: Int64) async -> NodeID? {
        if await store.size(of: name) == size { return node }
        for other in MediaPlaces.order(of: name.id, among: nodes.reached) where other != node {
            if await has(name, size: size, isThorough: false, other) == true { return other }
        }
        return nil
    }

    /// Whether a node has all bytes of the content; nil when it does not say.
    /// - Parameter isThorough: it reads them, unless it has done so before; else their number is enough.
    func has(_ name: MediaName, size: Int64, isThorough: Bool, _ other: NodeID) async -> Bool? {
        guard other != node else { return await isHere(name, size: size, isThorough: isThorough) }
        let question = NodeQuestion.mediaHas(Self.file(name), size: size, isThorough: isThorough)
        guard case .count(let count)? = try? await nodes.nodes.ask(other, question) else { return nil }
        return count == 1
    }

    private func isHere(_ name: MediaName, size: Int64, isThorough: Bool) async -> Bool {
        guard let found = await store.size(of: name), size <= 0 || found == size else { return false }
        return isThorough ? await store.isWhole(name) : true
    }

    func read(_ name: MediaName, at offset: Int64, count: Int, from place: NodeID) async -> [UInt8]? {
        let count = min(count, MediaPiece.bytesMax)
        guard place != node else { return await store.read(name, offset: offset, count: count) }
        let question = NodeQuestion.mediaRead(Self.file(name), offset: offset, count: count)
        return await pieces[place].pass {
            guard case .bytes(let bytes)? = try? await nodes.nodes.ask(place, question) else { return nil }
            return bytes
        }
    }

    // MARK: - Sharing

    func share(_ name: MediaName, _ record: UploadRecord, with other: RoomID) async -> Bool {
        guard let places = nodes.places(of: name.id),
            let copy = MediaName(room: other, id: name.id, digest: name.digest)
        else { return false }
        var copies = 0
        for place in places where copies < nodes.copies {
            if await link(name, to: other, at: place) == .stored {
                copies += 1
                continue
            }
            // It has just come back, or takes over from another one: it gets the bytes themselves.
            guard let source = await self.place(having: name, size: record.draft.size), source != place
            else { return false }
            switch await self.copy(name, size: record.draft.size, from: source, as: copy, to: place) {
            // The next one in the order has it instead.
            case .full: continue
            case .stored: copies += 1
            default: return false
            }
        }
        guard copies == nodes.copies else { return false }
        return true
    }

    private func link(_ name: MediaName, to other: RoomID, at place: NodeID) async -> MediaOutcome {
        await outcome(of: .mediaLink(Self.file(name), to: other), at: place)
    }

    /// Copies content from one node to another, or to another name.
    func copy(
        _ name: MediaName, size: Int64, from source: NodeID, as other: MediaName, to place: NodeID
    ) async -> MediaOutcome {
        let transfer = Self.freshTransfer()
        var offset: Int64 = 0
        while offset < size {
            guard !Task.isCancelled,
                let bytes = await read(name, at: offset, count: MediaPiece.bytesMax, from: source), !bytes.isEmpty
            else { return .unavailable }
            let piece = MediaPiece(transfer: transfer, offset: offset, size: size, bytes: bytes)
            let outcome = await write(piece, to: place)
            guard outcome == .stored else { return outcome }
            offset += Int64(bytes.count)
        }
        // Bytes that the disk has changed do not get any further.
        return await finish(transfer, as: other, size: size, at: place)
    }

    // MARK: - Answers to other nodes

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
        case .mediaHas(let file, let size, let isThorough):
            return .count(await isHere(try name(of: file), size: size, isThorough: isThorough) ? 1 : 0)
        case .mediaLink(let file, let room):
            return .count(await store.share(try name(of: file), with: room).rawValue)
        default: throw ChatError(.internal, "this is no question about content")
        }
    }

    private func name(of file: MediaFile) throws(ChatError) -> MediaName {
        guard let name = MediaName(room: file.room, id: file.id, digest: file.digest) else {
            throw ChatError(.badParameter, "these are no names of content")
        }
        return name
    }
}
