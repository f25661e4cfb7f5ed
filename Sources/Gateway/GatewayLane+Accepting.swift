import ChatModel
import EventLoop
import Logging
import RoomProtocol
import SessionCore
import TLS
import Telemetry
import Transport
import Wire

/// Connections come and go: each takes its place of the node and of its address, and is turned away where there is none.
extension GatewayLane {
    func accept(_ tcp: TCPConnection) {
        guard let peer = IPAddress(tcp.remoteAddress), secure(tcp) else { return tcp.close() }
        nextConnectionNumber += 1
        let connection = ClientConnection(number: nextConnectionNumber, tcp: tcp, lane: self, address: peer)
        connections[connection.number] = connection
        tcp.handler = connection
        plan(connection)
        connection.places.isOfNode = shared.budget.takeConnection()
        if !connection.places.isOfNode {
            noteFullNode()
            refuse(connection, .full)
        } else if !shared.admission.take(.handshake, nowMilliseconds: loop.nowMilliseconds) {
            refuse(connection, .tooFast)
        }
        // A proxy's clients are told apart by what it says in the request.
        if !proxies.contains(peer) { claim(peer, for: connection) }
        tcp.startReading()
    }

    var proxies: TrustedProxies { TrustedProxies(ranges: configuration.trustedProxies) }

    /// Begins TLS, where it is configured. False when there is no memory for it.
    private func secure(_ tcp: TCPConnection) -> Bool {
        guard let context = shared.tls else { return true }
        do throws(TLSError) {
            try tcp.secure(with: context, output: tlsOutput)
            return true
        } catch {
            logger.error("a connection gets no TLS", metadata: ["error": "\(error)"])
            return false
        }
    }

    /// Counts a connection for the address that it comes from.
    func claim(_ address: IPAddress, for connection: ClientConnection) {
        connection.address = address
        if shared.budget.take(address) {
            connection.places.holder = address.holder
        } else {
            noteFull(address)
            refuse(connection, .addressFull)
        }
    }

    /// One line for each time that the node is full, and not one for each client.
    private func noteFullNode() {
        guard shared.budget.noteFullNode(nowMilliseconds: loop.nowMilliseconds) else { return }
        logger.warning(
            "the node has all connections that it may have",
            metadata: ["limit": "\(shared.budget.connectionsMax)"])
    }

    /// One address with that many connections is more often a proxy than somebody greedy.
    private func noteFull(_ address: IPAddress) {
        guard shared.budget.noteRefusal() else { return }
        logger.warning(
            "an address has all connections that one may have; if it is a proxy, put it into trustedProxies",
            metadata: ["address": "\(address)", "limit": "\(configuration.connections.perAddressMax)"])
    }

    /// There is no place for this connection. It is told so when its handshake is done, as far as that costs little: a
    /// browser shows its page no other answer. Beyond that it is just cut, and comes again when it likes.
    private func refuse(_ connection: ClientConnection, _ reason: ClientConnection.NoPlace) {
        guard connection.noPlace == nil else { return }
        connection.noPlace = reason
        switch reason {
        case .full: shared.figures.nodePutOff.add()
        case .addressFull: shared.figures.addressPutOff.add()
        case .tooFast: shared.figures.handshakesPutOff.add()
        }
        refusing += 1
        if refusing > Self.refusingMax { connection.cut() }
    }

    /// Sends a client away, to come back when there is a place.
    func turnAway(_ connection: ClientConnection, _ reason: String, waitMs: Int64? = nil) {
        askToReconnect(connection, .full, waitMs: waitMs)
        connection.close(.connectionLimit, reason)
    }

    /// Sends a client away for which the node had no place when it came.
    func turnAway(_ connection: ClientConnection, _ reason: ClientConnection.NoPlace) {
        switch reason {
        case .full, .addressFull: turnAway(connection, "too many connections")
        case .tooFast:
            turnAway(
                connection, "too many clients come at once",
                waitMs: shared.admission.wait(.handshake, nowMilliseconds: loop.nowMilliseconds))
        }
    }

    func didClose(_ connection: ClientConnection) {
        guard connections.removeValue(forKey: connection.number) != nil else { return }
        agenda.forget(connection.number)
        if connection.noPlace != nil { refusing -= 1 }
        if connection.places.isOfNode { shared.budget.giveConnection() }
        if let holder = connection.places.holder { shared.budget.give(holder) }
        shared.figures.closed(connection.closeCode)
        detach(connection)
    }

    /// The connection is no viewer any more; its session begins its grace.
    func detach(_ connection: ClientConnection) {
        connection.login.onClose()
        for room in Array(connection.views.keys) { stopViewing(room, connection) }
        if let user = connection.places.user {
            connection.places.user = nil
            shared.budget.give(user)
        }
        guard let session = connection.session else { return }
        connection.session = nil
        session.connection = nil
        let heardAt = connection.heartbeat.heardAtMilliseconds
        perform(session.state.onDisconnect(heardAt: heardAt, nowMilliseconds: loop.nowMilliseconds), of: session)
        planGrace(of: session)
    }

    func stopViewing(_ room: RoomID, _ connection: ClientConnection) {
        guard let hub = hubs[room] else { return }
        hub.remove(connection)
        guard hub.isEmpty else { return }
        endWindow(of: hub)
        hubs[room] = nil
    }
}
