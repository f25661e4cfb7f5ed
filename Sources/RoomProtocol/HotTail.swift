import ChatModel

/// The newest kept messages of an active room, for clients that come back: bounded in number and in bytes.
package struct HotTail {
    package static let messagesMax = 256
    package static let bytesMax = 1 << 20

    /// Dense in seq; live ones start at `head`.
    private var messages: ContiguousArray<Message> = []
    /// The size of each, as it was counted: to go through a message once more costs more than to keep it.
    private var sizes: ContiguousArray<Int> = []
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
    package var last: Message? { isEmpty ? nil : messages.last }
    package var firstSeq: UInt64? { isEmpty ? nil : messages[head].seq }

    /// - Precondition: its seq follows the last one's.
    package mutating func append(_ message: Message) {
        messages.append(message)
        sizes.append(Self.size(message))
        bytes += sizes[sizes.count - 1]
        if message.hasExcerpt { quotes += 1 }
        if case .notification(let notification) = message.body, let reason = notification.event.putsOut {
            let cause = PutOut(reason, ext: notification.notifyExt)
            for target in notification.targets { kicks.note(target.user, at: message.time, cause) }
        }
        while messages.count - head > Self.messagesMax || (bytes > Self.bytesMax && messages.count - head > 1) {
            bytes -= sizes[head]
            if messages[head].hasExcerpt { quotes -= 1 }
            head += 1
            isFull = true
        }
        if head > Self.messagesMax {
            messages.removeFirst(head)
            sizes.removeFirst(head)
            head = 0
        }
    }

    package func message(seq: UInt64) -> Message? {
        guard let first = firstSeq, seq >= first, seq - first < UInt64(messages.count - head) else { return nil }
        return messages[head + Int(seq - first)]
    }

    /// A recalled message stays, without its body, and nobody quotes it any more.
    package mutating func erase(seq: UInt64) {
        removeQuotes { $0 == seq }
        guard let index = messages[head...].firstIndex(where: { $0.seq == seq }) else { return }
        messages[index].body = .recalled(messages[index].body.type)
        resize(index)
    }

    /// A message has changed.
    private mutating func resize(_ index: Int) {
        bytes -= sizes[index]
        sizes[index] = Self.size(messages[index])
        bytes += sizes[index]
    }

    /// A message was amended: this takes its place.
    package mutating func amend(_ message: Message) {
        guard let seq = message.seq, let first = firstSeq, seq >= first, seq - first < UInt64(messages.count - head)
        else { return }
        let index = head + Int(seq - first)
        let former = messages[index]
        // As it is here, its quote may have gone since.
        var fields = message.fields
        fields.replyTo = former.replyTo
        messages[index] = Message(fields)
        resize(index)
    }

    /// Takes away what replies quote of messages with those seqs.
    package mutating func removeQuotes(of isGone: (UInt64) -> Bool) {
        guard quotes > 0 else { return }
        for index in head..<messages.count {
            guard messages[index].hasExcerpt, let reply = messages[index].replyTo, isGone(reply.seq) else { continue }
            messages[index].replyTo = reply.withoutExcerpt
            resize(index)
            quotes -= 1
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
        return Array(messages[from..<min(messages.count, from + limit)])
    }

    /// The newest messages, oldest first, at most `count`: those that are here, up to `lastSeq`.
    package func newest(_ count: Int, lastSeq: UInt64) -> [Message] {
        guard last?.seq == lastSeq else { return [] }
        return Array(messages[head...].suffix(count))
    }

    /// Puts older messages in front, as far as they lead up to the first one without a hole and there is place for them.
    /// - Parameters:
    ///   - older: oldest first, without holes.
    ///   - lastSeq: the room's.
    package mutating func prepend(_ older: [Message], lastSeq: UInt64) {
        let fitting = older.filter { $0.seq.map { $0 < firstSeq ?? lastSeq + 1 } ?? false }
        guard let newest = fitting.last?.seq, newest + 1 == firstSeq ?? lastSeq + 1 else { return }
        var added: [Message] = []
        var next = newest
        for message in fitting.reversed() {
            guard message.seq == next, messages.count - head + added.count < Self.messagesMax,
                bytes + Self.size(message) <= Self.bytesMax
            else { break }
            bytes += Self.size(message)
            if message.hasExcerpt { quotes += 1 }
            added.append(message)
            next -= 1
        }
        messages.replaceSubrange(..<head, with: added.reversed())
        sizes.replaceSubrange(..<head, with: added.reversed().map(Self.size))
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
    /// Why those are out whom the notification names; nil when it puts nobody out.
    fileprivate var putsOut: KickReason? {
        switch self {
        case .kicked: .byManager
        case .blacklisted: .blacklisted
        default: nil
        }
    }
}
