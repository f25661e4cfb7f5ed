import ChatModel
import Cryptography
import Gateway
import Media
import RoomProtocol
import Rooms
import Synchronization

/// One sending of content: each piece goes to all places before the next one is taken, so that a slow place holds the sender
/// back, and nothing of it waits here.
final class MediaUploading: MediaUpload {
    private struct Progress {
        var offset: Int64 = 0
        var hash = SHA256Stream()
        var beginning: [UInt8] = []
        /// The nodes that have taken the first piece.
        var places: [NodeID] = []
    }

    let size: Int64
    private let host: LocalMedia
    private let room: RoomID
    private let id: String
    private let draft: UploadDraft
    private let candidates: [NodeID]
    private let transfer: String
    private let progress = Mutex(Progress())

    init(_ host: LocalMedia, _ id: String, in room: RoomID, _ draft: UploadDraft, to candidates: [NodeID]) {
        self.host = host
        self.id = id
        self.room = room
        self.draft = draft
        self.candidates = candidates
        size = draft.size
        transfer = LocalMedia.transfer(of: id)
    }

    deinit { _ = host.end(self, of: id) }

    func write(_ bytes: [UInt8]) async throws(MediaRefusal) {
        let offset = progress.withLock { progress in
            defer { progress.offset += Int64(bytes.count) }
            progress.hash.add(bytes)
            let missing = ContentTypes.signatureBytes - progress.beginning.count
            if missing > 0 { progress.beginning += bytes.prefix(missing) }
            return progress.offset
        }
        guard offset + Int64(bytes.count) <= size else { throw .tooLarge }
        let piece = MediaPiece(transfer: transfer, offset: offset, size: size, bytes: bytes)
        guard offset > 0 else { return try await begin(with: piece) }
        for place in progress.withLock({ $0.places }) { try require(await host.write(piece, to: place)) }
    }

    /// The first piece keeps a place for all of them: a node whose disk has none is left out, for the next one in the order.
    private func begin(with piece: MediaPiece) async throws(MediaRefusal) {
        let copies = host.nodes.copies
        var places: [NodeID] = []
        for candidate in candidates where places.count < copies {
            let outcome = await host.write(piece, to: candidate)
            if outcome == .full { continue }
            try require(outcome)
            places.append(candidate)
        }
        guard places.count == copies else { throw .full }
        progress.withLock { $0.places = places }
    }

    func finish() async throws(MediaRefusal) {
        let (digest, beginning) = progress.withLock { (Hexadecimal.encode($0.hash.digest()), $0.beginning) }
        if let expected = draft.sha256, expected != digest {
            // Before it is told: the sender may begin anew at once.
            await discard()
            throw .wrongBytes
        }
        guard let name = MediaName(room: room, id: id, digest: digest) else {
            throw MediaRefusal(ChatError(.internal, "the content has no name"))
        }
        for place in progress.withLock({ $0.places }) {
            try require(await host.finish(transfer, as: name, size: size, at: place))
        }
        let isInline = ContentTypes.isInline(draft.contentType, beginning: beginning)
        do throws(ChatError) {
            _ = try await host.calls.perform(
                .completeUpload(mediaID: id, digest: digest, isInline: isInline), in: room, as: .system, id: nil)
        } catch {
            throw MediaRefusal(error)
        }
    }

    /// Other nodes give up a sending of which they hear nothing more.
    func abandon() {
        guard host.end(self, of: id) else { return }
        Task { [host, transfer, id] in await host.store.discard(transfer, unless: { host.isSending(id) }) }
    }

    private func discard() async {
        guard host.end(self, of: id) else { return }
        await host.store.discard(transfer, unless: { [host, id] in host.isSending(id) })
    }

    private func require(_ outcome: MediaOutcome) throws(MediaRefusal) {
        switch outcome {
        case .stored: return
        case .full: throw .full
        case .tooLarge: throw .tooLarge
        case .wrongBytes, .outOfOrder, .unavailable:
            throw MediaRefusal(
                ChatError(.unavailable, "the content could not be stored; send it again", retryAfterMs: 1000))
        }
    }
}

/// Content that is being read, from the node that has it; from another one, if that does not answer any more.
struct MediaReading: MediaContent {
    private let host: LocalMedia
    private let stored: MediaName
    private let record: UploadRecord
    private let place: NodeID

    init(_ host: LocalMedia, _ stored: MediaName, _ record: UploadRecord, at place: NodeID) {
        self.host = host
        self.stored = stored
        self.record = record
        self.place = place
    }

    var size: Int64 { record.draft.size }
    var name: String { record.draft.name }
    var contentType: String { record.draft.contentType }
    var isInline: Bool { record.isInline }
    var digest: String { stored.digest }

    func read(at offset: Int64, count: Int) async throws(MediaRefusal) -> [UInt8] {
        if let bytes = await host.read(stored, at: offset, count: count, from: place), !bytes.isEmpty { return bytes }
        for from in MediaPlaces.order(of: stored.id, among: host.nodes.reached) where from != place {
            if let bytes = await host.read(stored, at: offset, count: count, from: from), !bytes.isEmpty {
                return bytes
            }
        }
        throw MediaRefusal(ChatError(.unavailable, "no node that has the content can be reached"))
    }
}
