import ChatModel

/// One connection to another node as this side sees it, without the socket: the greeting, the frames of both directions,
/// and how long the other may be silent. A value: bytes and times come in, and what is to be done comes out.
public struct LinkConversation: Sendable {
    public enum Stage: Sendable, Hashable {
        /// Waits for the other's hello and its proof.
        case greeting
        case up(NodeID)
        /// Nothing is read or written any more.
        case ended
    }

    /// How long this side waits, in milliseconds.
    public struct Patience: Sendable {
        /// For the other's hello and proof.
        public var greeting: UInt64
        /// A side that has sent nothing for so long sends a ping.
        public var ping: UInt64
        /// A side that was silent for so long is down.
        public var silence: UInt64

        public init(greeting: UInt64, ping: UInt64, silence: UInt64) {
            (self.greeting, self.ping, self.silence) = (greeting, ping, silence)
        }
    }

    /// The meaning of a frame.
    public enum Heard: Sendable, Hashable {
        /// It is done with.
        case nothing
        /// There may be more to send.
        case mayWrite
        /// The other has proved who it is; `proof` is still owed to it, before anything else, if it is wanted.
        case greeted(LinkHello, proof: LinkFrame?)
        /// The other does not want this connection.
        case refused(LinkError)
        /// It is for whoever takes its lane, and counts against the lane's window until it is ``dealt(with:bytes:)``.
        case frame(LinkFrame, from: NodeID)
    }

    /// The consequence of the passing of time.
    public enum Look: Sendable, Hashable {
        case nothing
        /// The other has not said in time who it is.
        case greetingLate
        case silent(NodeID)
        /// This side has been silent for long.
        case pingDue
    }

    public private(set) var stage = Stage.greeting
    /// The node that the other side said to be.
    public private(set) var claimed: NodeID?
    /// Whether the other side has proved to be that node.
    public private(set) var isProven = false
    /// Whether it has been up.
    public private(set) var wasUp = false
    /// Lanes that have refused a frame since they had room.
    public private(set) var refusedLanes: Set<LinkLane> = []
    public private(set) var outbox = LinkOutbox()

    private var greeting: LinkGreeting
    private var reader = LinkFrameReader()
    private var credit = LinkCredit()
    private let patience: Patience
    /// When the hello and the proof must have come.
    private var greetingDeadline: UInt64
    private var heardAt: UInt64
    private var sentAt: UInt64

    /// Begins with the hello in the outbox.
    public init(_ greeting: LinkGreeting, patience: Patience, at now: UInt64) {
        self.greeting = greeting
        self.patience = patience
        (heardAt, sentAt, greetingDeadline) = (now, now, now + patience.greeting)
        _ = outbox.offer(greeting.frame)
    }

    /// The node that this one has called; nil when it was called.
    public var called: NodeID? { greeting.expected }
    public var isEnded: Bool { stage == .ended }

    // MARK: - In

    /// Bytes have come.
    public mutating func append(_ bytes: UnsafeRawBufferPointer, at now: UInt64) {
        guard !isEnded else { return }
        heardAt = now
        reader.append(bytes)
    }

    /// The next whole frame of what has come; nil until there is more, and when it has ended.
    /// - Throws: `malformed`.
    public mutating func nextFrame() throws(LinkError) -> LinkFrame? {
        guard !isEnded else { return nil }
        if let frame = try reader.next() { return frame }
        if stage == .greeting, reader.waitingBytes > LinkFrame.headerBytes + LinkLane.control.frameBytesMax {
            throw .helloExpected
        }
        return nil
    }

    /// A frame has come.
    /// - Parameter identify: what the connection itself says of the other, who says to be that node: the node that its
    ///   certificate names, and what a proof is bound to. Without TLS nil and nothing.
    /// - Throws: why the connection is of no use.
    public mutating func heard(
        _ frame: LinkFrame, identify: (NodeID) throws(LinkError) -> (certified: NodeID?, binding: [UInt8])
    ) throws(LinkError) -> Heard {
        switch stage {
        case .greeting: return try greeted(frame, identify)
        case .ended: return .nothing
        case .up(let node):
            guard frame.lane == .control else {
                try credit.came(on: frame.lane, bytes: frame.byteCount)
                return .frame(frame, from: node)
            }
            switch try LinkControl(frame.payload) {
            case .hello, .proof: throw LinkError(.malformed, "\(node) says hello twice")
            case .refusal(let refusal): return .refused(refusal.error)
            case .credit(let lane, let bytes):
                outbox.credited(bytes, on: lane)
                return .mayWrite
            case .ping: return .nothing
            }
        }
    }

    private mutating func greeted(
        _ frame: LinkFrame, _ identify: (NodeID) throws(LinkError) -> (certified: NodeID?, binding: [UInt8])
    ) throws(LinkError) -> Heard {
        guard frame.lane == .control else { throw .helloExpected }
        let step: LinkGreeting.Step
        switch try LinkControl(frame.payload) {
        case .hello(let other):
            claimed = other.node
            let (certified, binding) = try identify(other.node)
            step = try greeting.heard(other, payload: frame.payload, certified: certified, binding: binding)
        case .proof(let proof): step = try greeting.heard(proof: proof)
        case .refusal(let refusal): return .refused(.unproven(refusal.error.code, by: called ?? claimed))
        case .credit, .ping: throw .helloExpected
        }
        switch step {
        case .wait: return .nothing
        case .send(let answer):
            _ = outbox.offer(answer)
            return .mayWrite
        case .done(let other, let proof):
            isProven = true
            return .greeted(other, proof: proof)
        }
    }

    /// The other is who it says, and this is the connection to it from here on.
    public mutating func onUp(with node: NodeID) {
        stage = .up(node)
        wasUp = true
    }

    // MARK: - Out

    /// Puts a frame behind those of its lane.
    /// - Returns: false when it was not taken (`LinkOutbox.offer`).
    public mutating func offer(_ frame: LinkFrame) -> Bool {
        if outbox.offer(frame) { return true }
        if frame.lane != .control { refusedLanes.insert(frame.lane) }
        return false
    }

    /// Takes what is to be written now, as `LinkOutbox.take(about:into:)`.
    public mutating func take(about bytes: Int, into output: inout [UInt8], at now: UInt64) {
        let before = output.count
        outbox.take(about: bytes, into: &output)
        if output.count > before { sentAt = now }
    }

    /// A frame was dealt with.
    /// - Returns: whether there is credit to send. False when it has ended.
    /// - Throws: when the credit can't be sent, without which the other side would wait for ever.
    public mutating func dealt(with lane: LinkLane, bytes: Int) throws(LinkError) -> Bool {
        guard !isEnded, let said = credit.dealt(with: lane, bytes: bytes) else { return false }
        // A few such frames are all that the windows allow.
        guard outbox.offer(said.frame) else { throw LinkError(.closed, "credit can't be sent") }
        return true
    }

    /// Lanes that have refused a frame and have room again: half of their bound.
    public mutating func takeLanesWithRoom() -> [LinkLane] {
        guard !refusedLanes.isEmpty else { return [] }
        let lanes = refusedLanes.filter { outbox.waitingBytes($0) <= $0.queueBytesMax / 2 }
        refusedLanes.subtract(lanes)
        return lanes.sorted { $0.rawValue < $1.rawValue }
    }

    // MARK: - Time

    /// When ``look(at:wasStopped:)`` may have something to say; nil: never.
    public var nextLook: UInt64? {
        switch stage {
        case .greeting: greetingDeadline
        case .up: min(sentAt + patience.ping, heardAt + patience.silence)
        case .ended: nil
        }
    }

    /// - Parameter wasStopped: this process itself stood still: what the other has sent waits to be read after this.
    public mutating func look(at now: UInt64, wasStopped: Bool) -> Look {
        switch stage {
        case .greeting:
            if wasStopped { greetingDeadline = max(greetingDeadline, now + patience.ping) }
            return now >= greetingDeadline ? .greetingLate : .nothing
        case .up(let node):
            if wasStopped { heardAt = max(heardAt, now - min(now, patience.silence) + patience.ping) }
            guard now < heardAt + patience.silence else { return .silent(node) }
            guard now >= sentAt + patience.ping else { return .nothing }
            sentAt = now
            return .pingDue
        case .ended: return .nothing
        }
    }

    // MARK: - The end

    /// It ends with a word why. Frames that wait for the other are of no use any more.
    public mutating func end(because error: LinkError) {
        if case .up = stage { outbox = LinkOutbox() }
        _ = outbox.offer(LinkControl.refusal(LinkRefusal(error)).frame)
        stage = .ended
    }

    /// It ends. Offered frames may still be written.
    public mutating func end() { stage = .ended }
}

extension LinkError {
    /// Something else came before the hello.
    public static var helloExpected: LinkError {
        LinkError(.malformed, "it sends something else before its hello")
    }
}
