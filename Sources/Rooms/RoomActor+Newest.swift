import ChatModel
import RoomCore
import RoomProtocol
import Wire

/// The messages that a room's storage may have in front of its tail: after a snapshot, history is back-filled behind a
/// room that is in memory already.
struct OlderMessages {
    /// Enters that wait for the read; nil while nothing is read. They are no more than the room admits in that time.
    var waiting: [Arrival]?
    /// Messages that were recalled while storage was being read.
    var erased: Set<UInt64> = []
    /// Messages that were amended meanwhile, as they are now.
    var amended: [UInt64: Message] = [:]
    /// Whether any message was recalled.
    var hasErased = false
    /// When it was read last.
    var readAt: Timestamp?

    /// The wait before the next read, for all who ask: a room whose history has expired is read once in a while, and not
    /// for each viewer.
    static let pauseSeconds: Int64 = 10

    /// Only messages that may be among those that are being read.
    mutating func noteErased(_ seq: UInt64, of lastSeq: UInt64) {
        guard waiting != nil else { return }
        hasErased = true
        guard seq + UInt64(HotTail.messagesMax) > lastSeq else { return }
        erased.insert(seq)
    }

    /// The same of an amended message.
    mutating func noteAmended(_ message: Message, of lastSeq: UInt64) {
        guard waiting != nil, let seq = message.seq, seq + UInt64(HotTail.messagesMax) > lastSeq else { return }
        amended[seq] = message
    }

    func mayRead(at now: Timestamp) -> Bool {
        readAt.map { $0.adding(seconds: Self.pauseSeconds) <= now || now < $0 } ?? true
    }
}

/// Entering with `history`: the newest messages and what follows are one sequence (PROTOCOL.md, "Newest messages").
extension RoomActor {
    /// The enter is answered at the end of the turn, or when the tail has been given what it lacks of `history`.
    func arrive(_ arrival: Arrival, at now: Timestamp) {
        guard lacksNewest(arrival) else { return arrivals.append(arrival) }
        guard older.waiting == nil else {
            hold(arrival.key)
            older.waiting?.append(arrival)
            return
        }
        guard older.mayRead(at: now) else { return arrivals.append(arrival) }
        hold(arrival.key)
        older.waiting = [arrival]
        readOlder()
    }

    /// Whether the enter asks for messages that were kept before the tail begins. A tail that is full has as many as a
    /// reply can hold.
    private func lacksNewest(_ arrival: Arrival) -> Bool {
        let wanted = UInt64(arrival.request.history)
        guard wanted > 0, isUnrecoverable(arrival), !tail.isFull else { return false }
        return (tail.firstSeq ?? state.lastSeq + 1) > 1 + state.lastSeq - min(state.lastSeq, wanted)
    }

    /// Whether the reply can't give the messages after `since`.
    func isUnrecoverable(_ arrival: Arrival) -> Bool {
        guard let since = arrival.request.since else { return true }
        return arrival.request.epoch != epoch || since > state.lastSeq || arrival.stored?.recovered == false
    }

    /// Reads what a reply may hold, once for all who have come meanwhile, and puts it in front of the tail.
    private func readOlder() {
        var query = HistoryRequest()
        query.ascending = false
        query.limit = Limits.missedMessages
        query.beforeSeq = tail.firstSeq
        let life = state.incarnation
        older.erased = []
        older.amended = [:]
        older.hasErased = false
        begin { [query] room in
            var failure: ChatError?
            do throws(ChatError) {
                room.putInFront(try await room.page(query).messages, life)
            } catch {
                failure = error
            }
            let (now, waiting) = (room.context.now(), room.older.waiting ?? [])
            room.older = OlderMessages(readAt: failure == nil ? now : nil)
            for arrival in waiting {
                if let failure {
                    room.refuse(arrival, failure)
                } else {
                    room.arrivals.append(arrival)
                }
                room.release(arrival.key, at: now)
            }
        }
    }

    /// - Parameters:
    ///   - read: newest first.
    ///   - life: the room's when they were asked for.
    private func putInFront(_ read: [Message], _ life: Incarnation?) {
        guard state.incarnation == life else { return }
        let older = read.reversed().map { message in
            let seq = message.seq ?? 0
            if self.older.erased.contains(seq) { return message.recalled }
            return self.older.amended[seq] ?? message
        }
        tail.prepend(older, lastSeq: state.lastSeq)
        // Any of those that they quote may have been recalled meanwhile.
        guard self.older.hasErased else { return }
        let present = tail
        tail.removeQuotes { present.message(seq: $0)?.isRecalled ?? true }
    }

    /// The newest messages that `history` asks for, as many as fit, up to the reply's `seq`: made and told once for all
    /// who ask for as many.
    /// - Returns: as `fillMissed`.
    func fillNewest(_ result: inout EnterResult, _ arrival: Arrival, _ info: RoomInfo) -> (bytes: Int, after: UInt64?) {
        let wanted = Int(arrival.request.history)
        guard wanted > 0 else { return (0, nil) }
        let bytesMax = missedBytes(info)
        let after = missedPages.start(ofNewest: wanted) {
            state.lastSeq - UInt64(newest(wanted, bytesMax: bytesMax).count)
        }
        guard after < state.lastSeq else {
            result.missed = []
            return (0, nil)
        }
        let page = missedPages.page(after: after, bytesMax: bytesMax) { newer(than: after, limit: wanted) }
        guard page.lastSeq == state.lastSeq, page.messages.byteCount <= bytesMax else {
            // Made for others, before the room was given a longer announcement, or a shorter one.
            result.missed = newest(wanted, bytesMax: bytesMax)
            return (bytesMax, nil)
        }
        sendMissed(page.messages, after: after, to: arrival.call.address)
        return (page.messages.byteCount, after)
    }

    /// Messages that have expired are unreachable at once, also those that the tail has.
    private func newest(_ wanted: Int, bytesMax: Int) -> [Message] {
        let oldest = visibleSince
        let messages = tail.newest(wanted, lastSeq: state.lastSeq).filter { $0.time >= oldest }
        return messages.suffix(EnterResult.fittingMissed(messages.reversed(), within: bytesMax))
    }
}

extension Message {
    /// The message as a recall leaves it.
    fileprivate var recalled: Message {
        var message = self
        message.body = .recalled(body.type)
        return message
    }
}
