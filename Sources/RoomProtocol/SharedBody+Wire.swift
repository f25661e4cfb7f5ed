import ChatModel
import Wire

/// A body as it travels, without its bytes, which follow as they are. Numbers are on the wire: they are never changed
/// or used again.
struct WiredBody: WireMessage {
    /// One that was read has no bytes yet.
    var body: RelayedBody
    /// How many bytes follow in JSON and in protobuf; nil: it has none in that encoding.
    var jsonBytes: UInt64?
    var protobufBytes: UInt64?

    init(_ body: RelayedBody) {
        self.body = body
        jsonBytes = body.body.json.map { UInt64($0.count) }
        protobufBytes = body.body.protobuf.map { UInt64($0.count) }
    }

    static var blank: WiredBody {
        WiredBody(
            RelayedBody(
                origin: .blank, name: BodyName(life: 0, number: 0), body: SharedBody(json: nil, protobuf: nil),
                descendants: []))
    }
    static var schemaName: String { "RelayedBody" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "origin", &body.origin)
        try walker.shown(2, "life", &body.name.life)
        try walker.shown(3, "number", &body.name.number)
        try walker.optional(4, "jsonBytes", &jsonBytes)
        try walker.optional(5, "protobufBytes", &protobufBytes)
        try walker.repeated(6, "descendants", &body.descendants)
    }
}

/// The reference that stands in the place of a frame's bytes, beside their lengths.
struct WiredBodyReference: WireMessage {
    var name: BodyName
    var check: UInt64

    static var blank: WiredBodyReference { WiredBodyReference(name: BodyName(life: 0, number: 0), check: 0) }
    static var schemaName: String { "BodyReference" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "life", &name.life)
        try walker.shown(2, "number", &name.number)
        try walker.shown(3, "check", &check)
    }
}

struct WiredBodyNames: WireMessage {
    var names: BodyNames

    static var blank: WiredBodyNames { WiredBodyNames(names: BodyNames(life: 0, numbers: [])) }
    static var schemaName: String { "BodyNames" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "life", &names.life)
        try walker.repeated(2, "numbers", &names.numbers)
    }
}
