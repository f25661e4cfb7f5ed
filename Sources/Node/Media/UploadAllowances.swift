import ChatModel
import Media
import RoomProtocol
import Synchronization

/// How much of today's allowance each user has used. One node counts for a user at a time, and tells a second one, which goes on
/// when the first is away. Both keep it in a file.
final class UploadAllowances: Sendable {
    /// Tells the second node what this one knows of a user, and hears what that one knows; nil: there is none, or it does not
    /// answer.
    typealias Exchange = @Sendable (UploadUse) async -> UploadUse?

    /// The closure of the file keeps this alive, and not the whole.
    private final class Known: Sendable {
        let uses: Mutex<UploadUses>

        init(_ uses: UploadUses) { self.uses = Mutex(uses) }
    }

    private let bytesPerDay: Int64
    private let now: @Sendable () -> Timestamp
    private let exchange: Exchange
    private let known: Known
    private let file: UploadUseFile?

    /// Blocks while the file is read.
    /// - Parameter path: of the file; nil: none.
    init(
        node: NodeID, bytesPerDay: Int64, path: String?, now: @escaping @Sendable () -> Timestamp,
        exchange: @escaping Exchange
    ) {
        self.bytesPerDay = bytesPerDay
        self.now = now
        self.exchange = exchange
        let known = Known(UploadUses(node: node, day: now().day))
        file = path.map { UploadUseFile(path: $0, uses: { known.uses.withLock { $0 } }) }
        self.known = known
        if let file { known.uses.withLock { file.read(into: &$0) } }
    }

    func close() { file?.close() }

    /// Takes bytes from what a user may send today. The second node is asked first, which may have counted while this one was
    /// away, and told afterwards.
    func take(_ bytes: Int64, of user: UserID) async throws(ChatError) {
        if let other = await exchange(use(of: user)) { merge(other) }
        let time = now()
        try known.uses.withLock { uses throws(ChatError) in
            uses.begin(time.day)
            try uses.take(bytes, of: user, bytesPerDay: bytesPerDay, at: time)
        }
        let use = use(of: user)
        file?.note(use.counts, of: user, on: use.day)
        // This node knows it alone if the second one does not hear it.
        if let other = await exchange(use) { merge(other) }
    }

    /// Takes over what another node knows.
    /// - Returns: what this one knows then.
    func hear(_ use: UploadUse) -> UploadUse {
        merge(use)
        return self.use(of: use.user)
    }

    private func merge(_ use: UploadUse) {
        let time = now()
        let isNews = known.uses.withLock { uses in
            uses.begin(time.day)
            return uses.merge(use.counts, of: use.user, on: use.day)
        }
        if isNews { file?.note(use.counts, of: use.user, on: use.day) }
    }

    private func use(of user: UserID) -> UploadUse {
        known.uses.withLock { UploadUse(user: user, day: $0.day, counts: $0.counts(of: user)) }
    }
}
