import ChatModel
import Wire

/// The end of a connection or of an attempt, and what follows.
extension ClientCore {
    /// A try came to nothing. A connection in use stays so.
    mutating func attemptFailed(_ error: ClientError, _ now: ClientInstant) {
        forgetConnect()
        log(.warning, "connecting failed: \(error.message)")
        backoff.fail()
        if !backoff.hasWindow { addressIndex &+= 1 }
        if successor != nil {
            successor = pause(now)
            // Requests that waited for the successor go on.
            return transmit(now)
        }
        connectionEnded(now)
        if state == .connected { move(to: .lost) }
        wait(error, now)
    }

    /// Tries again after a random time, if that is wanted.
    private mutating func wait(_ error: ClientError, _ now: ClientInstant) {
        guard mayTry else { return giveUp(error, now) }
        phase = pause(now)
    }

    private mutating func pause(_ now: ClientInstant) -> Phase {
        let milliseconds = backoff.next(using: &random)
        log(.debug, "connecting again in \(milliseconds) ms")
        return .waiting(until: now.adding(milliseconds: milliseconds))
    }

    mutating func closed(_ number: UInt64, code: UInt16?, reason: String, _ now: ClientInstant) {
        guard wants(number) else { return }
        let words = "\(code.map(String.init) ?? "no close frame") \(reason)"
        let isOnline = number == onlineConnection
        switch CloseAdvice(closeCode: code) {
        case .forcedOffline:
            effects.append(.clientEvent(.forcedOffline))
            closeConnections(but: number)
            giveUp(ClientError(.forcedOffline, "the server put this user offline"), now)
        case .takenOver where isOnline && isBeingReplaced: replaced(words, now)
        case .takenOver:
            effects.append(.clientEvent(.takenOver))
            closeConnections(but: number)
            giveUp(ClientError(.takenOver, "a newer connection has taken the session over"), now)
        case .mistake where isOnline || successor == nil:
            closeConnections(but: number)
            giveUp(ClientError(.protocolViolation, "the server closed: \(words)"), now)
        case .renewToken:
            guard isOnline else { return tokenRefused(now) }
            effects.append(.clientEvent(.tokenExpired))
            endedToken = usedToken
            lost(words, now)
            // A token that ended in its time needs no wait; one that does not hold must not make a storm.
            if successor == nil, mayTry, backoff.failures == 0 { return attemptConnection(now) }
            tryAgain(ClientError(.unauthorized, "the token has ended"), now)
        case .mistake, .reconnect:
            guard isOnline else {
                return attemptFailed(ClientError(.connectionFailed, "the connection was closed: \(words)"), now)
            }
            lost(words, now)
            tryAgain(ClientError(.connectionLost, "the connection was lost: \(words)"), now)
        }
    }

    /// The connection in use is gone.
    mutating func lost(_ words: String, _ now: ClientInstant) {
        log(.info, "the connection is lost: \(words)")
        if case .online(_, let since) = phase, since.adding(milliseconds: Self.steadyMilliseconds) <= now {
            backoff.succeed()
        } else if !backoff.hasWindow, successor == nil {
            // One that does not hold is as good as none, unless the node asked to leave.
            backoff.fail()
            if silentAddress.isEmpty { addressIndex &+= 1 }
        }
        connectionEnded(now)
        move(to: .lost)
    }

    /// Goes on after a loss: with the attempt that is under way already, else with another one after a wait.
    mutating func tryAgain(_ error: ClientError, _ now: ClientInstant) {
        guard let attempt = successor else { return wait(error, now) }
        guard mayTry else {
            closeConnections()
            return giveUp(error, now)
        }
        successor = nil
        phase = attempt
        // The try behind a wait counts by itself.
        if case .waiting = attempt { return }
        tries += 1
        connectIfSettled(now)
    }

    /// Ends a connection from this side and makes another.
    mutating func drop(_ number: UInt64?, _ words: String, _ now: ClientInstant) {
        guard let number else { return }
        effects.append(.close(connection: number, code: 1000))
        guard number == onlineConnection else {
            return attemptFailed(ClientError(.connectionFailed, words), now)
        }
        lost(words, now)
        tryAgain(ClientError(.connectionLost, words), now)
    }

    private mutating func closeConnections(but ended: UInt64? = nil) {
        for number in [onlineConnection, triedConnection] {
            if let number, number != ended { effects.append(.close(connection: number, code: 1000)) }
        }
    }

    /// Gives up everything that ended with the connection in use.
    private mutating func connectionEnded(_ now: ClientInstant) {
        phase = .idle
        moveAt = nil
        isBeingReplaced = false
        pingedAt = nil
        requestsLost(now)
        for room in stays.keys.sorted() { interrupt(room) }
    }

    /// Does not try any more.
    mutating func giveUp(_ error: ClientError, _ now: ClientInstant) {
        successor = nil
        connectionEnded(now)
        phase = .stopped
        log(.error, "the client stops: \(error.message)")
        session = nil
        owedExits = []
        move(to: .failed(error))
        for room in stays.keys.sorted() { end(room, .failed(error), error) }
        failAll(error)
    }

    /// The app has done: leaves its rooms and closes.
    mutating func stop() {
        if let number = onlineConnection {
            for room in stays.keys.sorted() {
                let id = takeWireID()
                let request = ClientRequest(id: id, operation: .exit(RoomNameRequest(room: room)))
                effects.append(.write(connection: number, request))
            }
        }
        closeConnections()
        (phase, successor) = (.stopped, nil)
        session = nil
        owedExits = []
        moveAt = nil
        let error = ClientError(.closed, "the client was closed")
        for room in stays.keys.sorted() { end(room, .exited, error) }
        failAll(error)
        move(to: .closed)
    }

    private mutating func failAll(_ error: ClientError) {
        for ticket in startTickets { fail(ticket, error) }
        startTickets = []
        for serial in requests.keys.sorted() { abandon(serial, error) }
    }

    /// A connection that held so long begins the back-off anew.
    private static let steadyMilliseconds: Int64 = 10_000
}
