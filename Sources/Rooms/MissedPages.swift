import ChatModel
import RoomCore
import RoomProtocol
import Wire

/// The messages that sessions have missed which enter at about the same time: in a storm mostly the same. Made and told
/// once, not once for each.
struct MissedPages {
    struct Page {
        var messages: MissedMessages
        /// The seq of the last of them; the seq where they begin if there are none.
        var lastSeq: UInt64
    }

    /// The encodings of those who enter.
    let encodings: ClientEncodings
    /// The room's; later there is more.
    private let lastSeq: UInt64
    /// No more than the room's tail has messages.
    private var pages: [UInt64: Page] = [:]
    /// The seq in front of the newest messages, by how many are asked for: at most `Limits.missedMessages`.
    private var newest: [Int: UInt64] = [:]
    private var told: [Lane: Set<UInt64>] = [:]

    init(encodings: ClientEncodings = [], lastSeq: UInt64 = 0) {
        self.encodings = encodings
        self.lastSeq = lastSeq
    }

    /// A node can't be reached any more, and forgets what it was told.
    mutating func lose(_ node: NodeID) { told = told.filter { $0.key.node != node } }

    /// Whether they are right for others who enter.
    func serve(_ encodings: ClientEncodings, lastSeq: UInt64) -> Bool {
        self.encodings.isSuperset(of: encodings) && self.lastSeq == lastSeq
    }

    /// The lanes that were told something.
    var toldLanes: [Lane] { told.keys.sorted() }

    /// - Parameters:
    ///   - bytesMax: as many of them as have so many bytes, be it none; the rest is in history.
    ///   - messages: asked for when nobody has missed the same.
    mutating func page(after seq: UInt64, bytesMax: Int, _ messages: () -> [Message]) -> Page {
        if let page = pages[seq] { return page }
        var missed = messages()
        var encoded = MissedMessages(missed, after: seq, encodings: encodings)
        if encoded.byteCount > bytesMax {
            missed = Array(missed.prefix(EnterResult.fittingMissed(missed, within: bytesMax)))
            encoded = MissedMessages(missed, after: seq, encodings: encodings)
        }
        let page = Page(messages: encoded, lastSeq: missed.last?.seq ?? seq)
        pages[seq] = page
        return page
    }

    /// The seq after which the newest messages begin.
    /// - Parameter find: asked when nobody has asked for as many.
    mutating func start(ofNewest count: Int, _ find: () -> UInt64) -> UInt64 {
        if let start = newest[count] { return start }
        let start = find()
        newest[count] = start
        return start
    }

    /// Whether the lane has not been told it yet; it is from now on.
    mutating func noteFirstSent(_ lane: Lane, after seq: UInt64) -> Bool {
        told[lane, default: []].insert(seq).inserted
    }
}
