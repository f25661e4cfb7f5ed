import ChatModel
import Wire

/// Requests that wait for an answer: sent when it can be, repeated when that is harmless, given up in time.
extension ClientCore {
    mutating func perform(_ ticket: UInt64, _ operation: ClientOperation, _ now: ClientInstant) {
        guard isRunning else { return fail(ticket, ClientError(.notConnected, "the client is not connected")) }
        if let room = operation.room, stays[room] == nil {
            return fail(ticket, ClientError(.notInRoom, "the user is not in \(room)"))
        }
        guard requests.count < settings.pendingRequestsMax else {
            return fail(ticket, ClientError(.tooManyPending, "\(requests.count) requests wait for an answer"))
        }
        let request = PendingRequest(operation, .app(ticket: ticket), at: now)
        notify(request, .sending)
        add(request, now)
    }

    /// A barrage, or taps, without an answer: sent now or not at all.
    mutating func say(_ operation: ClientOperation, in room: RoomID) {
        guard let number = onlineConnection, stays[room]?.state == .entered else { return }
        effects.append(.write(connection: number, ClientRequest(id: nil, operation: operation)))
    }

    mutating func add(_ request: PendingRequest, _ now: ClientInstant) {
        let serial = nextRequest
        nextRequest += 1
        requests[serial] = request
        renewTurns()
        if canSend(serial, request) { put(serial, now) }
    }

    /// Whether the connection takes it: a room's requests wait for the room, and calls of a queue for their turn.
    func canSend(_ serial: UInt64, _ request: PendingRequest) -> Bool {
        guard request.wireID == nil, connection(of: request) != nil else { return false }
        if let queue = request.queue, let turn = turns[queue], turn != serial { return false }
        if case .connect = request.purpose { return true }
        guard !waitsForSuccessor(request) else { return false }
        guard let room = request.room else { return true }
        switch request.operation {
        case .enter, .exit: return true
        default: return stays[room]?.takesRequests == true
        }
    }

    /// The connection on which a request is asked.
    func connection(of request: PendingRequest) -> UInt64? {
        request.purpose == .connect ? triedConnection : onlineConnection
    }

    /// Sends what can be sent, in the order in which it was asked.
    mutating func transmit(_ now: ClientInstant) {
        // Time may have passed without a word to this client, in a device that slept.
        expireRequests(now)
        guard onlineConnection != nil else { return }
        renewTurns()
        let due = requests.filter { canSend($0.key, $0.value) && ($0.value.notBefore ?? now) <= now }
        for serial in due.keys.sorted() { put(serial, now) }
    }

    /// The oldest call of each queue has the turn. Where none waits any more, calls go out as they come again.
    private mutating func renewTurns() {
        for (queue, turn) in turns where requests[turn] == nil {
            turns[queue] = requests.filter { $0.value.queue == queue && $0.value.wireID == nil }.keys.min()
        }
    }

    private mutating func put(_ serial: UInt64, _ now: ClientInstant) {
        guard var request = requests[serial], let number = connection(of: request) else { return }
        let id = takeWireID()
        if request.firstSentAt != nil, !request.isMoving { notify(request, .sending) }
        request.isMoving = false
        request.wireID = id
        request.notBefore = nil
        request.firstSentAt = request.firstSentAt ?? now
        request.lastSentAt = now
        requests[serial] = request
        onWire[id] = serial
        effects.append(.write(connection: number, ClientRequest(id: id, operation: request.operation)))
    }

    mutating func takeWireID() -> UInt32 {
        let id = nextWireID
        nextWireID = id == .max ? 1 : id + 1
        return id
    }

    // MARK: - Answers

    mutating func answered(
        _ id: UInt32, _ answer: Result<OperationResult, ChatError>, on number: UInt64, _ now: ClientInstant
    ) {
        guard let serial = onWire[id], var request = requests[serial], number == connection(of: request) else { return }
        onWire[id] = nil
        request.wireID = nil
        switch answer {
        case .success(let result):
            requests[serial] = nil
            succeeded(request, result, now)
            if !turns.isEmpty { transmit(now) }
        case .failure(let refusal):
            if refusal.code == .notInRoom {
                if losesRoom(request, now) {
                    requests[serial] = nil
                    return
                }
                if waitsForRoom(&request, now) {
                    requests[serial] = request
                    return
                }
            }
            if let wait = wait(after: refusal, request, now) {
                // Those that are made at once would be refused at once each time, all but a few.
                if refusal.code == .tooOften, let queue = request.queue {
                    if let turn = turns[queue], turn != serial, requests[turn] != nil {
                        requests[serial] = request
                        return
                    }
                    turns[queue] = serial
                }
                request.refusals += 1
                request.notBefore = now.adding(milliseconds: wait)
                requests[serial] = request
                return
            }
            requests[serial] = nil
            refused(request, refusal, now)
            if !turns.isEmpty { transmit(now) }
        }
    }

    /// The server does not know that this client is in a room where it believes to be: what it was told there meanwhile is
    /// lost, and it enters with `since`, as after a lost connection.
    ///
    /// - Returns: whether the request is sent again when it has entered.
    private mutating func waitsForRoom(_ request: inout PendingRequest, _ now: ClientInstant) -> Bool {
        guard case .app = request.purpose, let room = request.room, let stay = stays[room],
            request.losses < Self.lossesMax
        else { return false }
        switch request.operation {
        case .enter, .exit: return false
        default: break
        }
        request.losses += 1
        if stay.state == .entered { lose(room, now) }
        return request.repeating != .never
    }

    /// The same where the client itself reads what it has missed. Nothing is gone because of that: when it has entered, it
    /// reads what it has missed by then.
    ///
    /// - Returns: whether nobody waits for the answer any more.
    private mutating func losesRoom(_ request: PendingRequest, _ now: ClientInstant) -> Bool {
        switch request.purpose {
        case .catchUp, .fetch: break
        case .app, .connect, .refresh, .ping, .enter, .exit: return false
        }
        guard let room = request.room, let stay = stays[room] else { return false }
        guard stay.state == .entered else { return true }
        guard stay.losses < Self.lossesMax else { return false }
        stays[room]?.losses += 1
        lose(room, now)
        return true
    }

    private mutating func lose(_ room: RoomID, _ now: ClientInstant) {
        log(.warning, "the server does not know that this client is in \(room): it enters again")
        interrupt(room)
        askToEnter(room, now)
    }

    private mutating func succeeded(_ request: PendingRequest, _ result: OperationResult, _ now: ClientInstant) {
        if case .refresh(let refresh) = request.operation { usedToken = refresh.token }
        switch (request.purpose, result) {
        case (.app(let ticket), _):
            if case .send(let result) = result, let id = request.sendID {
                notify(request, .sent(SendReceipt(id, result)))
            }
            if case .exit = result { return complete(ticket, .done) }
            complete(ticket, .result(result))
        case (.connect, .connect(let result)): connected(result, now)
        case (.enter(let resumes), .enter(let result)):
            if let room = request.room { entered(room, result, resumes: resumes, now) }
        case (.catchUp(let from), .history(let page)):
            if let room = request.room {
                stays[room]?.losses = 0
                caughtUp(from: from, of: room, page, now)
            }
        case (.fetch(let range), .history(let page)):
            if let room = request.room {
                stays[room]?.losses = 0
                fetched(range, of: room, page, now)
            }
        case (.refresh, _), (.ping, _), (.exit, _): break
        default: drop(connection(of: request), "the server answered another operation than was asked", now)
        }
    }

    private mutating func refused(_ request: PendingRequest, _ refusal: ChatError, _ now: ClientInstant) {
        switch request.purpose {
        case .app(let ticket):
            // A user who is out already has what it asked for.
            if case .exit = request.operation, refusal.code == .notInRoom { return complete(ticket, .done) }
            let error = ClientError(refusal)
            notify(request, .failed(error))
            fail(ticket, error)
        case .connect: connectRefused(refusal, now)
        case .enter: if let room = request.room { enterRefused(room, refusal, now) }
        case .refresh: log(.warning, "the new token was refused: \(refusal.message)")
        case .catchUp(let from): if let room = request.room { caughtUp(from: from, of: room, nil, now) }
        case .fetch(let range): if let room = request.room { fetched(range, of: room, nil, now) }
        case .ping, .exit: break
        }
    }

    /// How long to wait before a refused request is sent again; nil if the refusal is its answer.
    private func wait(after refusal: ChatError, _ request: PendingRequest, _ now: ClientInstant) -> Int64? {
        guard request.repeating != .never else { return nil }
        let milliseconds = waitingTime(refusal, refusals: request.refusals)
        if let expiry = request.expiry(settings), now.adding(milliseconds: milliseconds) >= expiry { return nil }
        switch refusal.code {
        case .unavailable: return milliseconds
        case .tooOften: return milliseconds <= settings.refusalWaitMilliseconds ? milliseconds : nil
        case .internal: return request.refusals < Self.internalErrorsMax ? milliseconds : nil
        default: return nil
        }
    }

    /// The time that the server asked for, else doubling from half a second.
    func waitingTime(_ refusal: ChatError, refusals: Int) -> Int64 {
        if let asked = refusal.retryAfterMs { return min(max(asked, 10), Backoff.windowMilliseconds) }
        return min(500 << Int64(min(max(refusals, 0), 6)), settings.reconnectMaxMilliseconds)
    }

    /// The client enters again at most this often because of one request, or of its own reads in a row.
    private static let lossesMax = 2

    // MARK: - No answers

    /// The connection in use is gone: what may be repeated waits for the next one.
    /// - Parameter isMoving: the next one is there already, and no word is said about it.
    mutating func requestsLost(_ now: ClientInstant, isMoving: Bool = false) {
        onWire = onWire.filter { requests[$0.value]?.purpose == .connect }
        for serial in requests.keys.sorted() {
            guard var request = requests[serial], request.purpose != .connect else { continue }
            guard !request.endsWithConnection else {
                requests[serial] = nil
                continue
            }
            guard request.wireID != nil else { continue }
            if case .app(let ticket) = request.purpose, request.isSpentByLoss {
                requests[serial] = nil
                fail(ticket, ClientError(.connectionLost, "the connection was lost before the answer"))
            } else if case .app(let ticket) = request.purpose, case .exit = request.operation {
                requests[serial] = nil
                if let room = request.room { owedExits.insert(room) }
                complete(ticket, .done)
            } else {
                request.wireID = nil
                request.isMoving = isMoving
                requests[serial] = request
                if !isMoving { notify(request, .unknown) }
            }
        }
    }

    /// The attempt has ended: its `connect` is not answered any more.
    mutating func forgetConnect() {
        for (serial, request) in requests where request.purpose == .connect {
            requests[serial] = nil
            if let id = request.wireID { onWire[id] = nil }
        }
    }

    mutating func expireRequests(_ now: ClientInstant) {
        for serial in requests.keys.sorted() {
            guard let request = requests[serial], let expiry = request.expiry(settings), expiry <= now else { continue }
            // A server that does not answer these is no use; dropping the connection ends them all.
            if request.endsWithConnection {
                return drop(connection(of: request), "no answer to a request in time", now)
            }
            abandon(serial, ClientError(.timedOut, "no answer in time"))
        }
    }

    /// Gives a request up. A change that was sent may have been made.
    mutating func abandon(_ serial: UInt64, _ error: ClientError) {
        guard let request = requests.removeValue(forKey: serial) else { return }
        if let id = request.wireID { onWire[id] = nil }
        guard case .app(let ticket) = request.purpose else { return }
        guard request.firstSentAt != nil, request.repeating == .change else {
            notify(request, .failed(error))
            return fail(ticket, error)
        }
        notify(request, .unknown)
        fail(ticket, ClientError(.outcomeUnknown, "sent and never answered: \(error.message)"))
    }

    /// Tells the delivery of a send; other requests have none.
    mutating func notify(_ request: PendingRequest, _ status: DeliveryStatus) {
        guard let id = request.sendID, let room = request.room else { return }
        emit(room, .delivery(DeliveryChange(clientID: id, status: status)))
    }

    /// 500 means a fault, which may be a lasting one.
    private static let internalErrorsMax = 3
}

extension SendReceipt {
    package init(_ clientID: String, _ result: SendResult) {
        self.init(
            clientID: clientID, messageID: result.messageID, time: result.time, place: result.place)
        priority = result.priority
        delivered = result.delivered
        heldID = result.heldID
    }
}
