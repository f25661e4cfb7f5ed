import ChatModel
import RoomProtocol

/// Publications of other nodes, in order, though the bytes of shared frames come by a way of their own
/// (`SharedBodies`): a publication that names a body which has not come yet waits, and with it all that its node has
/// sent after it.
///
/// A body that does not come is asked for at the node that has named it. Where that does not help, or too much waits,
/// the connection to that node is to be ended: with the next one everything is said anew. A value: time comes in, and
/// what is to be done comes out.
public struct AwaitedBodies: Sendable {
    /// An action to be done.
    public enum Effect: Sendable, Equatable {
        /// To be performed now; it is complete.
        case hear(NodeMessage, from: NodeID)
        /// To be asked of the node.
        case ask(NodeID, BodyNames)
        /// The connection to the node is to be ended. Its publications are forgotten already.
        case drop(NodeID)
    }

    /// How much waits, and for how long.
    public struct Limits: Sendable, Hashable {
        /// A body that takes longer is asked for. Then again after twice the time, up to `pauseMax`.
        public var pauseMilliseconds: UInt64 = 50
        public var pauseMax: UInt64 = 500
        /// After so many questions without an answer the connection is of no use: some three seconds.
        public var asksMax = 8
        /// Bytes that wait of one node, with the bodies that have come for them.
        public var heldBytesMax = 16 << 20
        /// Bytes of bodies that no publication has named yet, of all nodes; beyond, the oldest is forgotten, and asked
        /// for if it is named after all.
        public var earlyBytesMax = 32 << 20
        public var earlyMax = 1 << 16
        /// Such a body was named before, or its publication is lost.
        public var earlyMilliseconds: UInt64 = 3_000

        public init() {}
    }

    private struct Held: Sendable {
        var message: NodeMessage
        var bytes: Int
        var references: [BodyReference]
    }

    private struct Wait: Sendable {
        var reference: BodyReference
        var askAt: UInt64
        var asks = 0
    }

    /// A node whose publications wait.
    private struct Origin: Sendable {
        var held = Fifo<Held>()
        var bytes = 0
        /// Bodies that have not come.
        var waits: [BodyName: Wait] = [:]
        /// Those of publications that wait for other ones.
        var bodies: [BodyName: SharedBody] = [:]
    }

    private struct Early: Sendable {
        var origin: NodeID
        var name: BodyName
        var since: UInt64
    }

    private let limits: Limits
    /// Nodes of which nothing waits are not in it.
    private var origins: [NodeID: Origin] = [:]
    private var early: [NodeID: [BodyName: SharedBody]] = [:]
    /// Oldest first, with some that were named since.
    private var earlyOrder = Fifo<Early>()
    private var earlyBytes = 0

    public init(limits: Limits = Limits()) { self.limits = limits }

    /// Whether nothing waits and nothing is kept: `look` has nothing to do.
    public var isIdle: Bool { origins.isEmpty && earlyOrder.count == 0 }

    // MARK: - What comes

    /// A message has come on the lane for publications, of so many bytes.
    public mutating func came(_ message: NodeMessage, bytes: Int, from node: NodeID, at now: UInt64) -> [Effect] {
        let references = message.references
        guard !references.isEmpty || origins[node] != nil else { return [.hear(message, from: node)] }
        var origin = origins.removeValue(forKey: node) ?? Origin()
        for reference in references {
            let body = takeEarly(reference.name, of: node)
            if let body, reference.fits(body) {
                origin.bodies[reference.name] = body
                origin.bytes += body.byteCount
            } else {
                origin.waits[reference.name] = Wait(reference: reference, askAt: now + limits.pauseMilliseconds)
            }
        }
        origin.held.append(Held(message: message, bytes: bytes, references: references))
        origin.bytes += bytes
        return proceed(&origin, node)
    }

    /// A body has come, from whomever.
    public mutating func came(_ body: RelayedBody, at now: UInt64) -> [Effect] {
        let node = body.origin
        guard var origin = origins[node], let wait = origin.waits[body.name] else {
            // This is a second copy of a body that waits with its publication.
            if origins[node]?.bodies[body.name] == nil { keepEarly(body, at: now) }
            return []
        }
        // A body that is not the named one is as good as lost.
        guard wait.reference.fits(body.body) else { return [] }
        // Held in one place only, so that nothing is copied.
        origins[node] = nil
        origin.waits[body.name] = nil
        origin.bodies[body.name] = body.body
        origin.bytes += body.body.byteCount
        return proceed(&origin, node)
    }

    /// A node that was asked does not have these bodies any more.
    public mutating func gone(_ names: BodyNames, from node: NodeID) -> [Effect] {
        let isAwaited = names.numbers.contains { origins[node]?.waits[BodyName(life: names.life, number: $0)] != nil }
        guard isAwaited else { return [] }
        onNodeLost(node)
        return [.drop(node)]
    }

    /// The connection to the node has ended, or another one has begun.
    public mutating func onNodeLost(_ node: NodeID) {
        origins[node] = nil
        for body in (early.removeValue(forKey: node) ?? [:]).values { earlyBytes -= body.byteCount }
    }

    /// Returns the publications that may be performed now; the rest waits on.
    private mutating func proceed(_ origin: inout Origin, _ node: NodeID) -> [Effect] {
        var effects: [Effect] = []
        while let first = origin.held.first, first.references.allSatisfy({ origin.bodies[$0.name] != nil }) {
            effects.append(.hear(first.message.completed(from: origin.bodies), from: node))
            for reference in first.references {
                origin.bytes -= origin.bodies.removeValue(forKey: reference.name)?.byteCount ?? 0
            }
            origin.bytes -= first.bytes
            origin.held.removeFirst()
        }
        guard origin.held.count > 0 else { return effects }
        guard origin.bytes <= limits.heldBytesMax else {
            onNodeLost(node)
            return effects + [.drop(node)]
        }
        origins[node] = origin
        return effects
    }

    // MARK: - Time

    /// Time has passed: whom to ask, and of whom to wait no longer. To be called now and then, until it is idle.
    public mutating func look(at now: UInt64) -> [Effect] {
        while let oldest = earlyOrder.first,
            oldest.since + limits.earlyMilliseconds <= now || early[oldest.origin]?[oldest.name] == nil
        {
            forgetOldestEarly()
        }
        var effects: [Effect] = []
        for node in origins.keys.sorted() {
            guard var origin = origins[node] else { continue }
            let due = origin.waits.values.filter { $0.askAt <= now }
            // Nothing that may still come would end the wait of a body that was named twice.
            guard !origin.waits.isEmpty, due.allSatisfy({ $0.asks < limits.asksMax }) else {
                onNodeLost(node)
                effects.append(.drop(node))
                continue
            }
            guard let life = due.first?.reference.name.life else { continue }
            // All are of one life, that of the process at the other end.
            let names = due.map(\.reference.name).filter { $0.life == life }
            let asked = names.map(\.number).sorted().prefix(SharedBodies.answersMax)
            for number in asked {
                let name = BodyName(life: life, number: number)
                guard var wait = origin.waits[name] else { continue }
                wait.asks += 1
                wait.askAt = now + min(limits.pauseMilliseconds << UInt64(min(wait.asks, 16)), limits.pauseMax)
                origin.waits[name] = wait
            }
            origins[node] = origin
            effects.append(.ask(node, BodyNames(life: life, numbers: Array(asked))))
        }
        return effects
    }

    // MARK: - Bodies without a publication

    private mutating func keepEarly(_ body: RelayedBody, at now: UInt64) {
        let size = body.body.byteCount
        guard size <= limits.earlyBytesMax, early[body.origin]?[body.name] == nil else { return }
        while earlyBytes + size > limits.earlyBytesMax || earlyOrder.count >= limits.earlyMax { forgetOldestEarly() }
        early[body.origin, default: [:]][body.name] = body.body
        earlyOrder.append(Early(origin: body.origin, name: body.name, since: now))
        earlyBytes += size
    }

    private mutating func forgetOldestEarly() {
        guard let oldest = earlyOrder.first else { return }
        earlyOrder.removeFirst()
        _ = takeEarly(oldest.name, of: oldest.origin)
    }

    private mutating func takeEarly(_ name: BodyName, of node: NodeID) -> SharedBody? {
        guard let body = early[node]?.removeValue(forKey: name) else { return nil }
        if early[node]?.isEmpty == true { early[node] = nil }
        earlyBytes -= body.byteCount
        return body
    }
}

extension NodeMessage {
    /// The bodies that it names in the place of their bytes.
    fileprivate var references: [BodyReference] {
        guard case .publications(let publications) = self else { return [] }
        var references: [BodyReference] = []
        for publication in publications {
            for case .shared(_, let reference) in publication.outputs { references.append(reference) }
        }
        return references
    }

    /// The same with the bytes in their places.
    fileprivate func completed(from bodies: [BodyName: SharedBody]) -> NodeMessage {
        guard case .publications(var publications) = self else { return self }
        for number in publications.indices {
            for place in publications[number].outputs.indices {
                guard case .shared(var output, let reference) = publications[number].outputs[place],
                    let body = bodies[reference.name]
                else { continue }
                output.sharedFrame?.json = body.json
                output.sharedFrame?.protobuf = body.protobuf
                publications[number].outputs[place] = .all(output)
            }
        }
        return .publications(publications)
    }
}
