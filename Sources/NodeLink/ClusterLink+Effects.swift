import ChatModel
import EventLoop
import NodeLinkCore
import Transport

/// The decisions of `LinkPeers`, carried out: calls, openings and ends of connections.
extension ClusterLink {
    func notify(_ event: LinkEvent) {
        for observer in observers { observer(event) }
    }

    func perform(_ effects: [LinkPeers.Effect]) {
        for effect in effects {
            switch effect {
            case .call(let node, let host, let port): call(node, host, port)
            case .refuse(let id, let error): if let link = links[id] { fail(link, error) }
            case .close(let id):
                guard let link = links[id] else { continue }
                link.close()
                gone(link)
            case .dismiss(let id):
                guard let link = links[id] else { continue }
                link.finish()
                gone(link)
            case .up(let node, let id, let version, let boot, let store):
                guard let link = links[id] else { continue }
                link.conversation.onUp(with: node)
                strangers.leave(id)
                reachedBy[node] = link
                certificates[node] = link.certificate
                notify(.up(node, version: version, boot: boot, store: store))
            case .down(let node):
                reachedBy[node] = nil
                notify(.down(node))
            }
        }
        setTimer()
    }

    private func call(_ node: NodeID, _ host: String, _ port: Int) {
        lastNumber += 1
        let number = lastNumber
        calls[node] = number
        TCPConnection.connect(
            loop: loop, host: host, port: port, timeoutMilliseconds: configuration.connectTimeout.wholeMilliseconds
        ) { [self] result in
            guard calls[node] == number else {
                // Forgotten meanwhile.
                if case .success(let connection) = result { connection.close() }
                return
            }
            calls[node] = nil
            switch result {
            case .success(let connection): open(connection, called: node, [])
            case .failure(let error): callFailed(node, LinkError(.closed, error.message))
            }
        }
    }

    private func callFailed(_ node: NodeID, _ error: LinkError) {
        peers.failed(node, at: loop.nowMilliseconds, random: .random(in: 0..<1))
        notify(.failed(node, error, isProven: false))
        setTimer()
    }

    func open(_ connection: TCPConnection, called: NodeID?, _ received: [UInt8]) {
        lastNumber += 1
        let link: LinkConnection
        let greeting = LinkGreeting(
            hello, nonce: LinkConnection.nonce(), isCaller: called != nil, expected: called, keys: keys)
        do throws(LinkError) {
            link = try LinkConnection(
                connection, id: LinkPeers.ConnectionID(lastNumber), isCaller: called != nil, tls: tls,
                output: tlsOutput, greeting: greeting,
                patience: configuration.patience, owner: self)
        } catch {
            strangers.leave(LinkPeers.ConnectionID(lastNumber))
            connection.close()
            if let called { return callFailed(called, error) }
            return notify(.failed(nil, error, isProven: false))
        }
        links[link.id] = link
        mark(link)
        link.start(received)
        setTimer()
    }

    /// The connection ends because of the other side's fault, of which it is told.
    func fail(_ link: LinkConnection, _ error: LinkError) {
        guard !link.isGone else { return }
        link.refuse(error)
        gone(link, error)
    }

    /// The connection is of no use any more, though it may not have closed yet. Idempotent.
    func gone(_ link: LinkConnection, _ error: LinkError? = nil) {
        guard !link.isGone else { return }
        link.isGone = true
        let now = loop.nowMilliseconds
        let effects = peers.closed(link.id, at: now)
        if let called = link.called, !link.conversation.wasUp {
            peers.failed(called, at: now, random: .random(in: 0..<1))
        }
        if let error {
            // A stranger that says to be a node and goes is no sign that the node is gone.
            let isProven = link.conversation.isProven
            notify(.failed(link.called ?? (isProven ? link.conversation.claimed : nil), error, isProven: isProven))
        }
        perform(effects)
    }
}
