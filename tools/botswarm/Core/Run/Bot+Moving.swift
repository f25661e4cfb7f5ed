import EventLoop
import HTTPWebSocket
import Transport
import Wire

/// Moving to another node without a silence (PROTOCOL.md, "Moving"): the next connection is made before the present one is
/// given up. A bot gives it up as soon as it sends `connect` on the next one, which is the worst that a client may do.
extension Bot {
    /// A connection that is being made while another one is in use.
    struct Successor {
        var connection: TCPConnection
        var handshake: WebSocketClientHandshake
        /// That of the connection.
        var number: Int
    }

    func sentAway(_ low: Int64, _ high: Int64) {
        lane.counters.sentAway += 1
        isEndExpected = true
        backoff.obey(minMilliseconds: low, maxMilliseconds: high)
        after(milliseconds: backoff.next(using: &lane.random)) { [weak self] in
            guard let self else { return }
            // The wait is over already.
            backoff.obey(minMilliseconds: 0, maxMilliseconds: 0)
            if isHere, absenceMilliseconds == nil { makeSuccessor(connectionNumber + 1) } else { drop() }
        }
        // If the server closes earlier, the same window counts.
        backoff.obey(minMilliseconds: low, maxMilliseconds: high)
    }

    /// Makes a connection with that number beside the present one.
    private func makeSuccessor(_ number: Int) {
        guard successor == nil else { return }
        let present = connectionNumber
        dial(number) { [weak self] result, address in
            guard let self, number > connectionNumber, present == connectionNumber, tcp != nil, isHere, !isStopped,
                successor == nil
            else {
                if case .success(let connection) = result { connection.close() }
                return
            }
            guard case .success(let connection) = result else { return tryNext(number) }
            let handshake = WebSocketClientHandshake(nonce: lane.randomBytes(16), subprotocols: [Self.subprotocol])
            connection.handler = self
            connection.write(
                SharedBytes(copying: handshake.request(host: address.authority, target: address.target)[...]))
            successor = Successor(connection: connection, handshake: handshake, number: number)
            connection.startReading()
        }
    }

    func read(_ bytes: UnsafeRawBufferPointer, from successor: Successor) {
        var (successor, rest) = (successor, UnsafeRawBufferPointer(start: nil, count: 0))
        switch successor.handshake.parse(bytes) {
        case .needsMore:
            self.successor = successor
            return
        case .failure(_, let error):
            lane.note(failure: error.message)
            endMoving()
            return tryNext(successor.number)
        case .open(_, let count):
            if count > 0 { rest = UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - count)...]) }
        }
        self.successor = nil
        // A bot that is not in its room any more goes on as before.
        guard isHere else { return successor.connection.close() }
        lane.readTime = lane.clock.now
        resume(over: successor.connection, number: successor.number, rest: rest)
    }

    func successorFailed() {
        guard let number = successor?.number else { return }
        successor = nil
        tryNext(number)
    }

    /// Tries the next node soon, while the present connection lasts.
    private func tryNext(_ number: Int) {
        after(milliseconds: Self.nextTryMilliseconds) { [weak self] in self?.makeSuccessor(number + 1) }
    }

    /// Gives up the connection that is being made.
    func endMoving() {
        let connection = successor?.connection
        successor = nil
        connection?.close()
    }

    private static let nextTryMilliseconds: UInt64 = 100
}
