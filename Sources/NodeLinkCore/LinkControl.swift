import ChatModel
import Wire

/// A frame of the control lane.
public enum LinkControl: Sendable, Hashable {
    case hello(LinkHello)
    case refusal(LinkRefusal)
    /// So many bytes of that lane were dealt with: as many more may come.
    case credit(LinkLane, bytes: UInt32)
    /// Says nothing but that this side is still there.
    case ping
    /// That this side has a key of the cluster.
    case proof([UInt8])

    /// As it travels.
    public var frame: LinkFrame { LinkFrame(.control, WireProtobuf.encode(Body(self))) }

    /// - Throws: `malformed`.
    public init(_ payload: [UInt8]) throws(LinkError) {
        do throws(ChatError) {
            self = try WireProtobuf.decode(Body.self, from: payload, limits: true).control
        } catch {
            throw LinkError(.malformed, "no control frame: \(error.message)")
        }
    }

    private struct Body: WireMessage {
        var control: LinkControl

        init(_ control: LinkControl) { self.control = control }

        static var blank: Body { Body(.credit(.control, bytes: 0)) }

        mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
            let current = control
            var seen = 0
            try seen +=
                walker.choice(
                    1, "hello", { if case .hello(let it) = current { it } else { nil } }, { control = .hello($0) })
                ? 1 : 0
            try seen +=
                walker.choice(
                    2, "refusal", { if case .refusal(let it) = current { it } else { nil } },
                    { control = .refusal($0) }) ? 1 : 0
            try seen +=
                walker.choice(
                    3, "credit",
                    {
                        if case .credit(let lane, let bytes) = current {
                            Credit(lane: UInt32(lane.rawValue), bytes: bytes)
                        } else {
                            nil
                        }
                    },
                    { credit in
                        let lane = UInt8(exactly: credit.lane).flatMap(LinkLane.init(rawValue:))
                        control = .credit(lane ?? .control, bytes: credit.bytes)
                    }) ? 1 : 0
            try seen +=
                walker.choice(4, "ping", { if case .ping = current { Ping() } else { nil } }, { _ in control = .ping })
                ? 1 : 0
            try seen +=
                walker.choice(
                    5, "proof", { if case .proof(let mac) = current { Proof(mac: mac) } else { nil } },
                    { control = .proof($0.mac) }) ? 1 : 0
            if W.isDecoding, seen != 1 {
                throw ChatError(.malformed, "there must be one of hello, refusal, credit, ping, proof")
            }
        }
    }

    private struct Ping: WireMessage {
        static var blank: Ping { Ping() }

        mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {}
    }

    private struct Proof: WireMessage {
        var mac: [UInt8]

        static var blank: Proof { Proof(mac: []) }

        mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
            try walker.required(1, "mac", &mac, .nonEmptyBytes(LinkKeys.proofBytesMax))
        }
    }

    private struct Credit: WireMessage {
        var lane: UInt32
        var bytes: UInt32

        static var blank: Credit { Credit(lane: 0, bytes: 0) }

        mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
            try walker.shown(1, "lane", &lane)
            try walker.shown(2, "bytes", &bytes)
        }
    }
}
