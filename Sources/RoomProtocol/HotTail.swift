import ChatModel
import Wire

/// The newest kept messages of an active room, for clients that come back: bounded in number and in bytes.
///
/// They lie here as they are stored, each in one place in memory. Most go again without having been read; as values, each
/// would be half a dozen places, none of which is in a cache when it is freed.
package struct HotTail {
    package static let messagesMax = Limits.hotTailMessages
    package static let bytesMax = 1 << 20

    private struct Kept {
        let seq: UInt64
        let time: Timestamp
        /// `Message.quotedSeq`.
        let quotedSeq: UInt64?
        /// Roughly what it occupies: noted, as a look at the bytes of an old one is a look into memory that no cache has.
        let size: Int
        /// `HistoryCodec`'s.
        let bytes: [UInt8]

        init?(_ message: Message, _ bytes: [UInt8]?) {
            guard let seq = message.seq else { return nil }
            (self.seq, time) = (seq, message.time)
            quotedSeq = message.quotedSeq
            self.bytes = bytes ?? HistoryCodec.encode(message)
            size = 80 + self.bytes.count
        }

        /// nil is for what this program did not write itself: whoever wants it reads history, which tells of the damage.
        var message: Message? { try? HistoryCodec.decode(bytes) }
    }

    /// Dense in seq; live ones start at `head`.
    private var messages: ContiguousArray<Kept> = []
    private var head = 0
    private var bytes = 0
    /// How many of them quote another, so that a recall looks for its quotes only where there are any.
    private var quotes = 0
    /// Whether older messages had to go for newer ones.
    package private(set) var isFull = false
    /// Users that were put out, for longer than those messages are here: an announced session may not have heard of it.
    private var kicks = Kicks()

    package init() {}

    package var isEmpty: Bool { head == messages.count }
    package var last: (seq: UInt64, time: Timestamp)? {
        isEmpty ? nil : messages.last.map { ($0.seq, $0.time) }
    }
    package var firstSeq: UInt64? { isEmpty ? nil : messages[head].seq }

    package func firstSeq(since time: Timestamp) -> UInt64? { messages[head...].first { $0.time >= time }?.seq }

    /// - Parameter bytes: of `HistoryCodec`, where they have been made.
    /// - Precondition: its seq follows the last one's.
    package mutating func append(_ message: Message, as bytes: [UInt8]? = nil) {
        guard let kept = Kept(message, bytes) else { return }
        // History that is still being filled has holes: what is before one is left to whoever reads history.
        if let last = messages.last?.seq, kept.seq != last + 1 { (head, self.bytes, quotes) = (messages.count, 0, 0) }
        messages.append(kept)
        count(kept)
        if case .notification(let notification) = message.body, let reason = notification.event.putsOut {
            let cause = PutOut(reason, ext: notification.notifyExt)
            for target in notification.targets { kicks.note(target.user, at: message.time, cause) }
        }
        while messages.count - head > Self.messagesMax || (self.bytes > Self.bytesMax && messages.count - head > 1) {
            uncount(head)
            head += 1
            isFull = true
        }
        if head > Self.messagesMax {
            messages.removeFirst(head)
            head = 0
        }
    }

    private mutating func count(_ kept: Kept) {
        bytes += kept.size
        if kept.quotedSeq != nil { quotes += 1 }
    }

    private mutating func uncount(_ index: Int) {
        bytes -= messages[index].size
        if messages[index].quotedSeq != nil { quotes -= 1 }
    }

    private func index(of seq: UInt64) -> Int? {
        guard let first = firstSeq, seq >= first, seq - first < UInt64(messages.count - head) else { return nil }
        return head + Int(seq - first)
    }

    package func message(seq: UInt64) -> Message? { index(of: seq).flatMap { messages[$0].message } }

    /// When a message was said; nil when it is not here.
    package func time(seq: UInt64) -> Timestamp? { index(of: seq).map { messages[$0].time } }

    /// A recalled message stays, without its body, and nobody quotes it any more.
    package mutating func erase(seq: UInt64) {
        removeQuotes { $0 == seq }
        change(seq) { $0.body = .recalled($0.body.type) }
    }

    /// Puts another message in the place of one that is here.
    private mutating func change(_ seq: UInt64, _ change: (inout Message) -> Void) {
        guard let index = index(of: seq), var message = messages[index].message else { return }
        change(&message)
        guard let kept = Kept(message, nil) else { return }
        uncount(index)
        messages[index] = kept
        count(kept)
    }

    /// A message was amended: this takes its place.
    package mutating func amend(_ message: Message) {
        guard let seq = message.seq else { return }
        change(seq) { former in
            // As it is here, its quote may have gone since.
            var fields = message.fields
            fields.replyTo = former.replyTo
            former = Message(fields)
        }
    }

    /// Takes away what others show of messages with those seqs.
    package mutating func removeQuotes(of isGone: (UInt64) -> Bool) {
        guard quotes > 0 else { return }
        for index in head..<messages.count {
            guard let quoted = messages[index].quotedSeq, isGone(quoted) else { continue }
            change(messages[index].seq) { $0 = $0.withoutQuote }
        }
    }

    /// Whether every message after `seq` is still here.
    package func holdsAll(after seq: UInt64, lastSeq: UInt64) -> Bool {
        guard seq < lastSeq else { return true }
        guard let first = firstSeq else { return false }
        return first <= seq + 1
    }

    /// Messages after `seq`, oldest first, at most `limit`; nil when some of them are no longer here.
    package func messages(after seq: UInt64, lastSeq: UInt64, limit: Int) -> [Message]? {
        guard seq < lastSeq else { return [] }
        guard holdsAll(after: seq, lastSeq: lastSeq), let first = firstSeq else { return nil }
        let from = head + Int(seq + 1 - first)
        guard from <= messages.count else { return nil }
        return values(messages[from..<min(messages.count, from + limit)])
    }

    private func values(_ some: ContiguousArray<Kept>.SubSequence) -> [Message]? {
        let values = some.compactMap(\.message)
        return values.count == some.count ? values : nil
    }

    /// The newest messages, oldest first, at most `count`: those that are here, up to `lastSeq`.
    package func newest(_ count: Int, lastSeq: UInt64) -> [Message] {
        guard last?.seq == lastSeq else { return [] }
        return values(messages[head...].suffix(count)) ?? []
    }

    /// Puts older messages in front, as far as they lead up to the first one without a hole and there is place for them.
    /// - Parameters:
    ///   - older: oldest first, without holes.
    ///   - lastSeq: the room's.
    package mutating func prepend(_ older: [Message], lastSeq: UInt64) {
        let fitting = older.filter { $0.seq.map { $0 < firstSeq ?? lastSeq + 1 } ?? false }
        guard let newest = fitting.last?.seq, newest + 1 == firstSeq ?? lastSeq + 1 else { return }
        var added: [Kept] = []
        var next = newest
        for message in fitting.reversed() {
            guard message.seq == next, messages.count - head + added.count < Self.messagesMax,
                let kept = Kept(message, nil), bytes + kept.size <= Self.bytesMax
            else { break }
            count(kept)
            added.append(kept)
            next -= 1
        }
        messages.replaceSubrange(..<head, with: added.reversed())
        head = 0
    }

    /// Notes that a user was put out, of which no message may tell.
    package mutating func noteKick(_ user: UserID, at time: Timestamp, _ cause: PutOut) {
        kicks.note(user, at: time, cause)
    }

    /// Why a user was put out at that time or later; nil for whoever was not.
    package func kicked(_ user: UserID, since time: Timestamp) -> PutOut? { kicks.cause(of: user, since: time) }

    /// Roughly what it occupies.
    package static func size(_ message: Message) -> Int {
        var size = 200 + (message.ext?.utf8.count ?? 0)
        switch message.body {
        case .text(let text), .tip(let text): size += text.utf8.count
        case .custom(let content, _, _): size += content.utf8.count
        case .notification(let notification):
            size += 500
            switch notification.data {
            case .queueBatch(_, let elements): size += elements.reduce(0) { $0 + 200 + $1.value.utf8.count }
            case .amended(_, _, let set, _): size += set.bytes
            default: break
            }
        default: size += 500
        }
        if message.hasExcerpt { size += Limits.excerptBytes }
        return size
    }
}

extension EventCode {
    /// Why the users that the notification names were put out; nil when it puts nobody out.
    fileprivate var putsOut: KickReason? {
        switch self {
        case .kicked: .byManager
        case .blacklisted: .blacklisted
        default: nil
        }
    }
}
