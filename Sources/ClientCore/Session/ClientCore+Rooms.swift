import ChatModel
import Wire

/// The stays: entering, coming back, leaving.
extension ClientCore {
    func isEntered(_ stay: RoomStay) -> Bool { stay.takesRequests && onlineConnection != nil }

    mutating func move(_ room: RoomID, to state: ConnectionState) {
        guard let stay = stays[room], stay.state != state else { return }
        stays[room]?.state = state
        emit(room, .state(state))
    }

    mutating func enter(_ room: RoomID, _ options: EnterOptions, ticket: UInt64, _ now: ClientInstant) {
        guard isRunning else { return fail(ticket, ClientError(.notConnected, "the client is not connected")) }
        owedExits.remove(room)
        if stays[room] == nil {
            stays[room] = RoomStay(room: room, options: options, settings: settings)
            emit(room, .state(.connecting))
        }
        stays[room]?.options = options
        stays[room]?.tickets.append(ticket)
        // Now, even if an earlier refusal asked to wait: the app may know better.
        stays[room]?.retryAt = nil
        askToEnter(room, now)
    }

    /// Sends `enter` if there is a connection and none is on it.
    mutating func askToEnter(_ room: RoomID, _ now: ClientInstant) {
        guard onlineConnection != nil, let stay = stays[room], !stay.isAsking else { return }
        if stay.state != .entered { move(room, to: .entering) }
        let request = stay.request()
        stays[room]?.isAsking = true
        stays[room]?.retryAt = nil
        add(PendingRequest(.enter(request), .enter(resumes: request.since != nil), at: now), now)
    }

    mutating func entered(_ room: RoomID, _ result: EnterResult, resumes: Bool, _ now: ClientInstant) {
        guard var stay = stays[room] else { return }
        let comesBack = !stay.takesRequests
        stay.isAsking = false
        stay.isMoving = false
        stay.hasEntered = true
        stay.refusals = 0
        let outputs = stay.stream.enter(result, resumes: resumes)
        if comesBack { stay.fetches = [] }
        let reads = comesBack ? stay.stream.readsAfterEntry() : []
        let tickets = stay.tickets
        stay.tickets = []
        stays[room] = stay
        move(room, to: .entered)
        perform(outputs + reads, room, now)
        if case .event(.entered(let entry)) = outputs.first {
            for ticket in tickets { complete(ticket, .entered(entry)) }
        }
        transmit(now)
    }

    mutating func enterRefused(_ room: RoomID, _ refusal: ChatError, _ now: ClientInstant) {
        // The room is away after all.
        if stays[room]?.isMoving == true { interrupt(room) }
        guard var stay = stays[room] else { return }
        stay.isAsking = false
        stay.refusals += 1
        let milliseconds = waitingTime(refusal, refusals: stay.refusals)
        // A rate is no failure: who enters many rooms at once comes into each.
        let isRate = refusal.code == .tooOften && milliseconds <= settings.refusalWaitMilliseconds
        if isRate { stay.refusals -= 1 }
        let mayPass = refusal.code == .unavailable || refusal.code == .internal || refusal.code == .tooOften
        let isAllowed = stay.hasEntered || settings.retryCount < 0 || stay.refusals <= settings.retryCount
        if mayPass, isAllowed {
            stay.retryAt = now.adding(milliseconds: milliseconds)
            stays[room] = stay
            return log(.info, "entering \(room) was refused for now: \(refusal.message)")
        }
        stays[room] = stay
        let error = ClientError(refusal)
        if stay.state == .entered {
            // An entry again that is refused ends nothing.
            for ticket in stay.tickets { fail(ticket, error) }
            stays[room]?.tickets = []
        } else {
            end(room, .failed(error), error)
        }
    }

    mutating func retryEntries(_ now: ClientInstant) {
        for (room, stay) in stays.sorted(by: { $0.key < $1.key }) {
            if let due = stay.retryAt, due <= now { askToEnter(room, now) }
        }
    }

    mutating func exit(_ ticket: UInt64, _ room: RoomID, _ now: ClientInstant) {
        guard stays[room] != nil else {
            return fail(ticket, ClientError(.notInRoom, "the user is not in \(room)"))
        }
        end(room, .exited, ClientError(.notInRoom, "the app left \(room)"))
        if onlineConnection != nil {
            add(PendingRequest(.exit(RoomNameRequest(room: room)), .app(ticket: ticket), at: now), now)
        } else {
            if session != nil { owedExits.insert(room) }
            complete(ticket, .done)
        }
    }

    mutating func kicked(_ push: KickedPush) {
        guard stays[push.room] != nil else { return }
        emit(push.room, .kicked(Kick(reason: push.reason, ext: push.ext)))
        let error = ClientError(.kicked, "put out of \(push.room) with reason \(push.reason.rawValue)")
        end(push.room, .failed(error), error)
    }

    /// Ends a stay and everything that waits for it.
    mutating func end(_ room: RoomID, _ state: ConnectionState, _ error: ClientError) {
        guard let stay = stays[room] else { return }
        for serial in requests.keys.sorted() where requests[serial]?.room == room { abandon(serial, error) }
        move(room, to: state)
        stays[room] = nil
        for ticket in stay.tickets { fail(ticket, error) }
        effects.append(.stayEnded(room))
    }

    /// The connection is gone.
    mutating func interrupt(_ room: RoomID) {
        leaveOff(room)
        guard let stay = stays[room] else { return }
        move(room, to: stay.hasEntered ? .lost : .connecting)
    }

    /// Ends what a stay has under way on its connection.
    mutating func leaveOff(_ room: RoomID) {
        guard var stay = stays[room] else { return }
        stay.isMoving = false
        stay.isAsking = false
        stay.retryAt = nil
        stay.fetches = []
        let outputs = stay.stream.interrupt()
        stays[room] = stay
        for output in outputs { if case .event(let event) = output { emit(room, event) } }
    }

    // MARK: - What a stream wants

    mutating func perform(_ outputs: [RoomStream.Output], _ room: RoomID, _ now: ClientInstant) {
        for output in outputs {
            switch output {
            case .event(let event): emit(room, event)
            case .catchUp(let range): read(range, of: room, to: .catchUp(from: range.lowerBound), now)
            case .fetch(let range): read(range, of: room, to: .fetch(range), now)
            case .fetchLater(let range):
                let wait = Int64.random(in: 0...max(0, settings.gapWaitMilliseconds), using: &random)
                stays[room]?.fetches.append((range, now.adding(milliseconds: wait)))
            }
        }
    }

    mutating func readGaps(_ now: ClientInstant) {
        for (room, stay) in stays.sorted(by: { $0.key < $1.key }) where isEntered(stay) {
            stays[room]?.fetches.removeAll { $0.at <= now }
            for fetch in stay.fetches where fetch.at <= now {
                read(fetch.range, of: room, to: .fetch(fetch.range), now)
            }
        }
    }

    private mutating func read(
        _ range: ClosedRange<UInt64>, of room: RoomID, to purpose: PendingRequest.Purpose, _ now: ClientInstant
    ) {
        var query = HistoryRequest()
        query.ascending = true
        query.limit = Int(min(range.upperBound - range.lowerBound, UInt64(Limits.pageItems - 1))) + 1
        query.afterSeq = range.lowerBound == 0 ? nil : range.lowerBound - 1
        add(PendingRequest(.history(RoomHistoryRequest(room: room, query: query)), purpose, at: now), now)
    }

    mutating func caughtUp(from: UInt64, of room: RoomID, _ page: MessagesResult?, _ now: ClientInstant) {
        guard var stay = stays[room] else { return }
        let outputs = page.map { stay.stream.caughtUp(from: from, $0) } ?? stay.stream.catchUpFailed(from: from)
        stays[room] = stay
        perform(outputs, room, now)
    }

    mutating func fetched(
        _ range: ClosedRange<UInt64>, of room: RoomID, _ page: MessagesResult?, _ now: ClientInstant
    ) {
        guard var stay = stays[room] else { return }
        let outputs = page.map { stay.stream.fetched(range, $0) } ?? stay.stream.fetchFailed(range)
        stays[room] = stay
        perform(outputs, room, now)
    }
}
