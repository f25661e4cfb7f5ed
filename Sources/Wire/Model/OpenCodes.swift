import ChatModel

/// The type of a message as a reader takes it: a later version's type does not spoil what it stands in.
struct OpenType: WireOpenEnum {
    /// nil for a type that this version does not know.
    var known: MessageType?
    /// As it was read; the number where that came in protobuf.
    var name: String

    static var blank: OpenType { OpenType(known: .blank, name: MessageType.blank.rawValue) }
    static var protobufType: ProtobufWireType { MessageType.protobufType }
    static var knownNames: [String] { MessageType.allCases.map(\.rawValue) }

    init(known: MessageType?, name: String) {
        self.known = known
        self.name = name
    }

    init(_ body: MessageBody) {
        if case .unknown(let name) = body {
            self.init(known: nil, name: name)
        } else {
            self.init(known: body.type, name: body.type.rawValue)
        }
    }

    func writeJSON(to writer: inout JSONWriter) { writer.append(string: name) }
    static func readJSON(_ value: JSONValue) throws(ChatError) -> OpenType {
        let name = try value.string()
        let known = MessageType(exactly: name)
        return OpenType(known: known == .unknown ? nil : known, name: name)
    }
    func writeProtobuf(to writer: inout ProtobufWriter) {
        writer.append(varint: known.map { UInt64(clamping: $0.number) } ?? UInt64(name) ?? 0)
    }
    static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> OpenType {
        let number = try value.varint()
        let known = Int(exactly: number).flatMap { MessageType(number: $0) }
        return OpenType(known: known, name: known?.rawValue ?? String(number))
    }
    static func describe(in schema: inout SchemaWriter) -> String { MessageType.describe(in: &schema) }
}

/// The code of a notification as a reader takes it, likewise.
struct OpenEvent: WireValue {
    /// nil for an event that this version does not know.
    var known: EventCode?
    var number: Int64

    static var blank: OpenEvent { OpenEvent(known: .blank, number: Int64(EventCode.blank.rawValue)) }
    static var protobufType: ProtobufWireType { EventCode.protobufType }

    init(known: EventCode?, number: Int64) {
        self.known = known
        self.number = number
    }

    init(number: Int64) {
        let known = Int(exactly: number).flatMap { EventCode(rawValue: $0) }
        self.init(known: known == .unknown ? nil : known, number: number)
    }

    init(_ notification: Notification) {
        if case .unknown(let event) = notification.data {
            self.init(number: event)
        } else {
            self.init(known: notification.event, number: Int64(notification.event.rawValue))
        }
    }

    func writeJSON(to writer: inout JSONWriter) { writer.append(integer: number) }
    static func readJSON(_ value: JSONValue) throws(ChatError) -> OpenEvent { OpenEvent(number: try value.int64()) }
    func writeProtobuf(to writer: inout ProtobufWriter) { number.writeProtobuf(to: &writer) }
    static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> OpenEvent {
        OpenEvent(number: try Int64.readProtobuf(value))
    }
    static func describe(in schema: inout SchemaWriter) -> String { EventCode.describe(in: &schema) }
}
