import ChatModel
import RoomCore
import RoomProtocol
import Wire

/// Entering with `history`: the newest messages and what follows are one sequence (PROTOCOL.md, "Newest messages").
extension RoomActor {
    /// The enter is answered at the end of the turn, or when the tail has been given what it lacks of `history`.
    func arrive(_ arrival: Arrival, at now: Timestamp) {
        guard lacksNewest(arrival) else { return entering.arrivals.append(arrival) }
        guard recent.older.waiting == nil else {
            hold(arrival.key)
            recent.older.waiting?.append(arrival)
            return
        }
        guard recent.older.mayRead(at: now) else { return entering.arrivals.append(arrival) }
        hold(arrival.key)
        recent.older.waiting = [arrival]
        readOlder()
    }

    /// Whether the enter asks for messages that were kept before the tail begins. A tail that is full has as many as a
    /// reply can hold.
    private func lacksNewest(_ arrival: Arrival) -> Bool {
        let wanted = UInt64(arrival.request.history)
        guard wanted > 0, isUnrecoverable(arrival), !recent.tail.isFull else { return false }
        return (recent.tail.firstSeq ?? state.lastSeq + 1) > 1 + state.lastSeq - min(state.lastSeq, wanted)
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
        query.beforeSeq = recent.tail.firstSeq
        let life = state.incarnation
        recent.older.erased = []
        recent.older.amended = [:]
        recent.older.erasuresBefore = recent.erased.count
        begin { [query] room in
            var failure: ChatError?
            do throws(ChatError) {
                room.putInFront(try await room.page(query).messages, life)
            } catch {
                failure = error
            }
            let (now, waiting) = (room.context.now(), room.recent.older.waiting ?? [])
            room.recent.older = OlderMessages(readAt: failure == nil ? now : nil)
            for arrival in waiting {
                if let failure {
                    room.refuse(arrival, failure)
                } else {
                    room.entering.arrivals.append(arrival)
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
            if recent.older.erased.contains(seq) { return message.recalled }
            return recent.older.amended[seq] ?? message
        }
        recent.tail.prepend(older, lastSeq: state.lastSeq)
        // Some of those that they quote may have been recalled meanwhile.
        let (before, erased) = (recent.older.erasuresBefore, recent.erased)
        guard erased.count != before else { return }
        recent.tail.removeQuotes { erased.contains($0, since: before) != false }
    }

    /// The newest messages that `history` asks for, as many as fit, up to the reply's `seq`: made and told once for all
    /// who ask for as many.
    /// - Returns: as `fillMissed`.
    func fillNewest(_ result: inout EnterResult, _ arrival: Arrival, _ info: RoomInfo) -> (bytes: Int, after: UInt64?) {
        let wanted = Int(arrival.request.history)
        guard wanted > 0 else { return (0, nil) }
        let after = entering.missedPages.start(ofNewest: wanted) {
            state.lastSeq - UInt64(newest(wanted, info).count)
        }
        guard after < state.lastSeq else {
            result.missed = []
            return (0, nil)
        }
        let bytesMax = after + 1 == state.lastSeq ? newestBytes(info) : missedBytes(info)
        let page = entering.missedPages.page(after: after, bytesMax: bytesMax) { newer(than: after, limit: wanted) }
        guard page.lastSeq == state.lastSeq, page.messages.byteCount <= bytesMax else {
            // Made for others, before the room was given a longer announcement, or a shorter one.
            result.missed = newest(wanted, info)
            return (newestBytes(info), nil)
        }
        sendMissed(page.messages, after: after, to: arrival.call.address)
        return (page.messages.byteCount, after)
    }

    /// Messages that have expired are unreachable at once, also those that the tail has.
    private func newest(_ wanted: Int, _ info: RoomInfo) -> [Message] {
        let oldest = visibleSince
        let messages = recent.tail.newest(wanted, lastSeq: state.lastSeq).filter { $0.time >= oldest }
        let count = EnterResult.fittingMissed(messages.reversed(), within: missedBytes(info))
        guard count == 0 else { return messages.suffix(count) }
        return messages.suffix(EnterResult.fittingMissed(messages.suffix(1), within: newestBytes(info)))
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
