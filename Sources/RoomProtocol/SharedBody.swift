import ChatModel

/// The bytes of a frame that is for everybody in a room, without what is said of it: as they are sent apart from the
/// publication that shows them.
public struct SharedBody: Sendable, Equatable {
    public var json: [UInt8]?
    public var protobuf: [UInt8]?

    public init(json: [UInt8]?, protobuf: [UInt8]?) {
        (self.json, self.protobuf) = (json, protobuf)
    }

    /// The bytes of an output that is the same for all viewers; nil of another one.
    package init?(_ output: RoomOutput) {
        guard output.isSharedByAll, let frame = output.sharedFrame else { return nil }
        self.init(json: frame.json, protobuf: frame.protobuf)
    }

    /// In both encodings.
    public var byteCount: Int { (json?.count ?? 0) + (protobuf?.count ?? 0) }

    package var check: UInt64 { Checksum.of(protobuf ?? [], after: Checksum.of(json ?? [])) }
}

/// Which body it is, among those of its origin.
public struct BodyName: Sendable, Hashable {
    /// Random, of the process that has numbered it.
    public var life: UInt64
    public var number: UInt64

    public init(life: UInt64, number: UInt64) {
        (self.life, self.number) = (life, number)
    }
}

/// Some bodies of one life.
public struct BodyNames: Sendable, Hashable {
    public var life: UInt64
    public var numbers: [UInt64]

    public init(life: UInt64, numbers: [UInt64]) {
        (self.life, self.numbers) = (life, numbers)
    }
}

/// The reference that a publication has in the place of a body.
public struct BodyReference: Sendable, Hashable {
    public var name: BodyName
    /// nil: it has none in that encoding.
    public var jsonBytes: UInt64?
    public var protobufBytes: UInt64?
    public var check: UInt64

    public init(name: BodyName, jsonBytes: UInt64?, protobufBytes: UInt64?, check: UInt64) {
        self.name = name
        (self.jsonBytes, self.protobufBytes, self.check) = (jsonBytes, protobufBytes, check)
    }

    package init(_ body: SharedBody, name: BodyName) {
        self.init(
            name: name, jsonBytes: body.json.map { UInt64($0.count) },
            protobufBytes: body.protobuf.map { UInt64($0.count) }, check: body.check)
    }

    /// Whether what has come under the name is what the origin meant.
    package func fits(_ body: SharedBody) -> Bool { self == BodyReference(body, name: name) }
}

/// A body on its way from its origin to many nodes.
public struct RelayedBody: Sendable, Equatable {
    /// The node whose publications name it.
    public var origin: NodeID
    public var name: BodyName
    public var body: SharedBody
    /// To whom the receiver passes it on; none for a leaf of the tree, and in an answer of the origin.
    public var descendants: [NodeID]

    public init(origin: NodeID, name: BodyName, body: SharedBody, descendants: [NodeID]) {
        self.origin = origin
        self.name = name
        self.body = body
        self.descendants = descendants
    }
}
