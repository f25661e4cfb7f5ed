import ChatModel
import LinkCore
import RoomLink

/// What drives the links of a node: as `ClusterLink` does it, on the node's first loop.
extension ClusterSimulation {
    func startLinks(_ node: SimulatedNode) {
        var hello = LinkHello(
            cluster: "simulated", node: id(of: node.number), store: node.store, boot: random.next(),
            shards: UInt32(Self.shardCount))
        hello.requireProof()
        node.links = SimulatedLinks(hello)
        for other in nodes where other.number != node.number && !other.isRemoved {
            node.links.peers.know(id(of: other.number), host: other.name, port: 1, at: milliseconds)
        }
        setLinkTimer(node)
    }

    func number(ofNode id: NodeID) -> Int? { nodes.firstIndex { self.id(of: $0.number) == id } }

    private func perform(_ effects: [LinkPeers.Effect], _ node: SimulatedNode) {
        let links = node.links
        for effect in effects {
            switch effect {
            case .call(let other, _, _):
                guard let number = number(ofNode: other) else { continue }
                links.calls[other] = connect(node, to: number)
            case .refuse(let id, let error): if let link = links.connections[id] { fail(link, error, node) }
            case .close(let id):
                guard let link = links.connections[id] else { continue }
                close(link)
                gone(link, node)
            case .dismiss(let id):
                if let link = links.connections[id] { fail(link, LinkError(.closed, "nobody asks here"), node) }
            case .up(let other, let id, let version, _, let store):
                guard let link = links.connections[id] else { continue }
                link.conversation.isUp(with: other)
                links.reachedBy[other] = link
                count("links")
                trace("n\(node.number) up \(other)")
                isUp(other, version: version, store: store, at: node)
            case .down(let other):
                links.reachedBy[other] = nil
                links.ends[other, default: 0] += 1
                count("links ended")
                trace("n\(node.number) down \(other)")
                isDown(other, at: node)
            }
        }
        setLinkTimer(node)
    }

    // MARK: - Connections

    /// A call has ended, well or not.
    func called(_ wire: SimulatedWire, isConnected: Bool) {
        let node = nodes[wire.sides[0].node]
        guard !wire.isCallOver else { return }
        wire.isCallOver = true
        let other = id(of: wire.sides[1].node)
        guard node.links.calls[other] === wire else { return closeWire(wire, at: 0) }
        node.links.calls[other] = nil
        if isConnected { return open(wire, at: 0, called: other, node) }
        closeWire(wire, at: 0)
        callFailed(other, node)
    }

    private func callFailed(_ other: NodeID, _ node: SimulatedNode) {
        node.links.peers.failed(other, at: milliseconds, random: Double(random.below(1_000)) / 1_000)
        setLinkTimer(node)
    }

    func accept(_ wire: SimulatedWire) { open(wire, at: 1, called: nil, nodes[wire.sides[1].node]) }

    private func open(_ wire: SimulatedWire, at place: Int, called: NodeID?, _ node: SimulatedNode) {
        let links = node.links
        let id = links.nextID()
        wire.sides[place].id = id
        let greeting = LinkGreeting(
            links.hello, nonce: (0..<LinkHello.nonceBytes).map { _ in UInt8(random.below(256)) },
            isCaller: called != nil, expected: called, keys: SimulatedLinks.keys)
        let link = SimulatedLinks.Connection(
            id, wire, place, LinkConversation(greeting, patience: SimulatedLinks.patience, at: milliseconds))
        links.connections[id] = link
        mark(link, node)
        setLinkTimer(node)
        // What has come before this side was told that it is connected.
        if !wire.sides[place].readable.isEmpty || wire.sides[place].hasEnded {
            add(.readable(wire, at: place), in: .zero)
        }
    }

    /// Something has come, or the end.
    func readable(_ wire: SimulatedWire, at place: Int) {
        let node = nodes[wire.sides[place].node]
        // What belongs to a connection that the process has not accepted yet is read when it has.
        guard wire.sides[place].isOpen, let id = wire.sides[place].id, let link = node.links.connections[id] else {
            return
        }
        let (bytes, hasEnded) = read(wire, at: place)
        bytes.withUnsafeBytes { link.conversation.append($0, at: milliseconds) }
        do throws(LinkError) {
            while let frame = try link.conversation.nextFrame() { try hear(frame, link, node) }
        } catch {
            fail(link, error, node)
        }
        guard hasEnded else { return }
        close(link)
        node.links.connections[id] = nil
        gone(link, node)
    }

    private func hear(_ frame: LinkFrame, _ link: SimulatedLinks.Connection, _ node: SimulatedNode) throws(LinkError) {
        switch try link.conversation.heard(frame, identify: { _ throws(LinkError) in (nil, []) }) {
        case .nothing: break
        case .mayWrite: mark(link, node)
        case .greeted(let other, let proof):
            let effects = node.links.peers.hello(
                other, on: link.id, expected: link.conversation.called, certified: nil, at: milliseconds)
            let isRefused = effects.contains { if case .refuse(link.id, _) = $0 { true } else { false } }
            if let proof, !isRefused, link.conversation.offer(proof) { mark(link, node) }
            perform(effects, node)
        case .refused:
            count("links refused")
            close(link)
            gone(link, node)
        case .frame(let frame, let other):
            try take(frame, from: other, at: node)
            if try link.conversation.dealt(with: frame.lane, bytes: frame.byteCount) { mark(link, node) }
        }
    }

    /// The other side is at fault, and told so.
    func fail(_ link: SimulatedLinks.Connection, _ error: LinkError, _ node: SimulatedNode) {
        guard !link.isGone else { return }
        if !link.conversation.isEnded { link.conversation.end(because: error) }
        var bytes: [UInt8] = []
        link.conversation.take(about: 64 << 10, into: &bytes, at: milliseconds)
        write(.bytes(bytes), to: 1 - link.place, of: link.wire)
        close(link)
        gone(link, node)
    }

    private func close(_ link: SimulatedLinks.Connection) {
        link.conversation.end()
        closeWire(link.wire, at: link.place)
    }

    private func gone(_ link: SimulatedLinks.Connection, _ node: SimulatedNode) {
        guard !link.isGone else { return }
        link.isGone = true
        node.links.connections[link.id] = nil
        let effects = node.links.peers.closed(link.id, at: milliseconds)
        if let called = link.conversation.called, !link.conversation.wasUp { callFailed(called, node) }
        perform(effects, node)
    }

    /// The connection to that node ends because of something that this one has found.
    func dropLink(_ connection: LinkPeers.ConnectionID, _ reason: String, _ node: SimulatedNode) {
        guard let link = node.links.connections[connection] else { return }
        fail(link, LinkError(.closed, reason), node)
    }

    // MARK: - Writing

    /// On the node's first loop, to whoever is reached now.
    func offer(_ payload: [UInt8], on lane: LinkLane, to other: NodeID, from node: SimulatedNode) -> Bool {
        guard let link = node.links.reachedBy[other], link.conversation.offer(LinkFrame(lane, payload)) else {
            return false
        }
        mark(link, node)
        return true
    }

    private func mark(_ link: SimulatedLinks.Connection, _ node: SimulatedNode) {
        guard !link.isDirty else { return }
        link.isDirty = true
        node.links.dirty.append(link)
    }

    /// There is room again.
    func writable(_ wire: SimulatedWire, at place: Int) {
        let node = nodes[wire.sides[place].node]
        if let id = wire.sides[place].id, let link = node.links.connections[id] { mark(link, node) }
    }

    /// At the end of the first loop's turn.
    func flushLinks(_ node: SimulatedNode) {
        let dirty = node.links.dirty
        node.links.dirty = []
        for link in dirty {
            link.isDirty = false
            guard !link.conversation.isEnded else { continue }
            guard link.wire.hasRoom(from: link.place) else {
                link.wire.sides[link.place].waitsForRoom = true
                continue
            }
            var bytes: [UInt8] = []
            link.conversation.take(about: SimulatedWire.roomBytes, into: &bytes, at: milliseconds)
            if !bytes.isEmpty { write(.bytes(bytes), to: 1 - link.place, of: link.wire) }
            if !link.conversation.outbox.isEmpty, !link.wire.hasRoom(from: link.place) {
                link.wire.sides[link.place].waitsForRoom = true
            }
        }
    }

    // MARK: - Time

    private func setLinkTimer(_ node: SimulatedNode) {
        var due = node.links.peers.nextCall
        for link in node.links.connections.values {
            if let next = link.conversation.nextLook { due = min(due ?? next, next) }
        }
        guard let due, node.links.wakeUp.map({ due < $0 }) ?? true else { return }
        node.links.wakeUp = due
        add(.linkTick(node.number, run: node.run, due: due), in: .milliseconds(due - min(due, milliseconds)))
    }

    func linkTick(_ node: SimulatedNode, due: UInt64) {
        guard node.links.wakeUp == due else { return }
        node.links.wakeUp = nil
        // This process itself was stopped: what the others have sent waits to be read after this.
        let wasStopped = milliseconds > due + 1_000
        for link in node.links.sorted {
            switch link.conversation.look(at: milliseconds, wasStopped: wasStopped) {
            case .nothing: continue
            case .greetingLate: fail(link, LinkError(.timedOut, "it said no hello in time"), node)
            case .silent:
                count("silent links ended")
                close(link)
                gone(link, node)
            case .pingDue:
                if !link.wire.sides[link.place].waitsForRoom, link.conversation.offer(LinkControl.ping.frame) {
                    mark(link, node)
                }
            }
        }
        perform(node.links.peers.tick(at: milliseconds), node)
    }
}
