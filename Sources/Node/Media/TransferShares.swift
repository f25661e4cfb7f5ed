import ChatModel
import Gateway
import Synchronization

/// How many transfers everybody has under way at this node: a slow one holds a place for up to an hour, and nobody may hold all of
/// the node's. Strangers together have half of them.
final class TransferShares: Sendable {
    enum Holder: Sendable, Hashable {
        case user(UserID)
        /// Somebody without a token, by the address.
        case stranger(MediaClient)
    }

    /// A place; given back when nobody holds this any more.
    final class Place: Sendable {
        private let shares: TransferShares
        private let holder: Holder

        fileprivate init(_ shares: TransferShares, _ holder: Holder) {
            self.shares = shares
            self.holder = holder
        }

        deinit { shares.giveBack(holder) }
    }

    private struct State {
        var counts: [Holder: Int] = [:]
        var strangers = 0
    }

    private let eachMax: Int
    private let strangersMax: Int
    private let state = Mutex(State())

    /// - Parameter max: transfers of the node.
    init(each eachMax: Int, max: Int) {
        self.eachMax = eachMax
        strangersMax = (max + 1) / 2
    }

    /// Throws 503 for one who has all that one may have.
    func take(_ holder: Holder) throws(MediaRefusal) -> Place {
        let isFree = state.withLock { state in
            let isStranger = if case .stranger = holder { true } else { false }
            guard state.counts[holder, default: 0] < eachMax, !isStranger || state.strangers < strangersMax else {
                return false
            }
            state.counts[holder, default: 0] += 1
            if isStranger { state.strangers += 1 }
            return true
        }
        guard isFree else {
            throw MediaRefusal(
                ChatError(.unavailable, "too many transfers of one user or address", retryAfterMs: 2_000))
        }
        return Place(self, holder)
    }

    private func giveBack(_ holder: Holder) {
        state.withLock { state in
            let count = state.counts[holder, default: 1] - 1
            state.counts[holder] = count > 0 ? count : nil
            if case .stranger = holder { state.strangers -= 1 }
        }
    }

    func count(of holder: Holder) -> Int { state.withLock { $0.counts[holder] ?? 0 } }
}

/// Bytes that come, as a transfer that somebody has.
struct SharedUploading: MediaUpload {
    let upload: any MediaUpload
    let place: TransferShares.Place

    var size: Int64 { upload.size }
    func write(_ bytes: [UInt8]) async throws(MediaRefusal) { try await upload.write(bytes) }
    func finish() async throws(MediaRefusal) { try await upload.finish() }
    func abandon() { upload.abandon() }
}

/// Content that is read, as a transfer that somebody has.
struct SharedReading: MediaContent {
    let content: any MediaContent
    let place: TransferShares.Place

    var size: Int64 { content.size }
    var name: String { content.name }
    var contentType: String { content.contentType }
    var isInline: Bool { content.isInline }
    var digest: String { content.digest }
    func read(at offset: Int64, count: Int) async throws(MediaRefusal) -> [UInt8] {
        try await content.read(at: offset, count: count)
    }
}
