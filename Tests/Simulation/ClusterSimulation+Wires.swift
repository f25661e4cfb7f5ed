/// TCP between nodes: what the systems of their machines do, whether the processes run or not.
extension ClusterSimulation {
    // MARK: - Calls

    /// The process asks for a connection; it is told `connected` or `callFailed`.
    func connect(_ node: SimulatedNode, to other: Int) -> SimulatedWire {
        let wire = SimulatedWire(from: node.number, run: node.run, to: other)
        wires.removeAll(where: \.isOver)
        wires.append(wire)
        add(.syn(wire), in: random.milliseconds(1...12))
        add(.callTimedOut(wire), in: Self.connectTimeout)
        return wire
    }

    func syn(_ wire: SimulatedWire) {
        let (caller, called) = (wire.sides[0].node, wire.sides[1].node)
        guard !wire.isCallOver, nodes[caller].run == wire.sides[0].run, nodes[caller].isUp else {
            return wire.isCallOver = true
        }
        guard !blocked.contains([caller, called]), !blocked.contains([called, caller]) else {
            return add(.syn(wire), in: random.milliseconds(200...1_000))
        }
        guard nodes[called].isUp else {
            return add(.callFailed(wire), in: random.milliseconds(1...12))
        }
        // The system accepts, also for a process that stands still.
        wire.sides[0].isOpen = true
        wire.sides[1].isOpen = true
        wire.sides[1].run = nodes[called].run
        add(.acceptable(wire), in: .zero)
        add(.connected(wire), in: random.milliseconds(1...12))
    }

    // MARK: - Bytes

    func write(_ item: SimulatedWire.Item, to side: Int, of wire: SimulatedWire) {
        // TCP repeats what is lost.
        let delay = random.milliseconds(1...12) + (random.chance(lossPercent) ? .milliseconds(200) : .zero)
        let arrival = max(now + delay, wire.sides[side].lastArrival)
        wire.sides[side].underWay.append(item)
        wire.sides[side].lastArrival = arrival
        add(.segment(wire, to: side), in: arrival - now)
    }

    /// The next item comes to a machine, if the network lets it.
    func segment(_ wire: SimulatedWire, to place: Int) {
        let (from, to) = (wire.sides[1 - place].node, wire.sides[place].node)
        let isUnacknowledged = blocked.contains([to, from])
        guard !blocked.contains([from, to]),
            !isUnacknowledged || wire.sides[place].unacknowledged < SimulatedWire.unacknowledgedMax
        else { return add(.segment(wire, to: place), in: random.milliseconds(40...200)) }
        wire.sides[place].unacknowledged = isUnacknowledged ? wire.sides[place].unacknowledged + 1 : 0
        guard let item = wire.sides[place].underWay.popFirst() else { return }
        let hasSide = wire.sides[place].isOpen && nodes[to].isUp && nodes[to].run == wire.sides[place].run
        switch item {
        case .bytes(let bytes):
            guard hasSide else {
                // The system answers for a process that is gone, unless the machine is.
                if nodes[to].isUp { write(.end, to: 1 - place, of: wire) }
                return
            }
            wire.sides[place].readable += bytes
        case .end:
            guard hasSide, !wire.sides[place].hasEnded else { return }
            wire.sides[place].hasEnded = true
        }
        add(.readable(wire, at: place), in: .zero)
    }

    /// The process reads all there is.
    func read(_ wire: SimulatedWire, at place: Int) -> (bytes: [UInt8], hasEnded: Bool) {
        let side = wire.sides[place]
        wire.sides[place].readable = []
        if wire.sides[1 - place].waitsForRoom {
            wire.sides[1 - place].waitsForRoom = false
            add(.writable(wire, at: 1 - place), in: random.milliseconds(1...12))
        }
        return (side.readable, side.hasEnded)
    }

    /// The process closes its side.
    func closeWire(_ wire: SimulatedWire, at place: Int) {
        guard wire.sides[place].isOpen else { return }
        wire.sides[place].isOpen = false
        if !wire.sides[place].hasEnded { write(.end, to: 1 - place, of: wire) }
    }

    /// The process is gone, and its sides with it. The others are told, unless the machine is gone too.
    func dropWires(of node: SimulatedNode) {
        let isTold = random.chance(70)
        for wire in wires {
            for place in wire.sides.indices where wire.sides[place].node == node.number {
                if place == 0 { wire.isCallOver = true }
                guard wire.sides[place].isOpen else { continue }
                if isTold { closeWire(wire, at: place) }
                wire.sides[place].isOpen = false
            }
        }
    }

    /// As in `ClusterLinkConfiguration`.
    static let connectTimeout = Duration.seconds(5)
}
