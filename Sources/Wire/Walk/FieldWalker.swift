import ChatModel

/// The values that a field may have. Limits stand in the walk, beside the field that they bind.
public enum FieldLimit: Sendable, Hashable {
    case none
    /// At most that many bytes (PROTOCOL.md, "Names and limits": UTF-8 of the decoded string, or decoded bytes for
    /// base64). More is 413.
    case bytes(Int)
    /// Not empty, and at most that many bytes. Empty is 414, more is 413.
    case nonEmptyBytes(Int)
    /// Within the bounds, both included; else 414.
    case integers(Int64, Int64)
    /// Within the bounds, both included; else 414.
    case numbers(Double, Double)
}

/// Visits the fields of a message, in one of the four directions JSON or protobuf, reading or writing, or to describe
/// the schema. A message's `walk` names each field once, so that all of these agree.
///
/// Every field has a protobuf number and a JSON name. Within one walk the numbers of the fields visited ascend.
/// A JSON `null` is an absent field. When reading, a required field that is absent, a value of another JSON type and
/// a value out of its range are 414 with the field's name; a length over its limit is 413 with the field's name.
public protocol FieldWalker {
    /// Whether the walk fills the message in. When false the walk only reads it.
    static var isDecoding: Bool { get }
    /// Whether the walk is to name all fields of all variants, whatever the message holds.
    static var describesSchema: Bool { get }
    /// Whether values over their limits are refused: for input from outside, not for what the cluster wrote itself.
    var enforcesLimits: Bool { get }
    /// Whether a reader may have fields that a later visit finds. A walk need not visit the rest when there are none.
    var mayHaveMore: Bool { get }
    /// Whether a reader may have fields with numbers from the last visit's to below this one. A walk need not visit those
    /// between when there are none.
    func mayHave(before number: Int) -> Bool

    /// A field that must be there.
    mutating func required<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit)
        throws(ChatError)

    /// A field that must be there, and that a reader takes from those it knows.
    mutating func required<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, known: inout KnownParts<V>) throws(ChatError)

    /// A field that is nil when absent, and absent when nil.
    mutating func optional<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V?, _ limit: FieldLimit)
        throws(ChatError)

    /// A field that stands for `fallback` when absent, and is left out when it equals that.
    mutating func defaulted<V: WireValue & Equatable>(
        _ number: Int, _ name: StaticString, _ value: inout V, default fallback: V, _ limit: FieldLimit)
        throws(ChatError)

    /// A field that belongs to the shape of a result: always there in JSON, left out of protobuf when zero or empty.
    mutating func shown<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit)
        throws(ChatError)

    /// A list. `itemsMax` is a count: more is 414. `limit` holds for each item.
    /// - Parameter always: whether an empty list is written in JSON.
    /// - Returns: whether the field was there (when reading); protobuf has no empty lists.
    @discardableResult
    mutating func repeated<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], always: Bool, itemsMax: Int, _ limit: FieldLimit
    )
        throws(ChatError) -> Bool

    /// A JSON object of strings by key, a protobuf `map<string, string>`; keys are not empty.
    mutating func map(
        _ number: Int, _ name: StaticString, _ pairs: inout [QueuePair], itemsMax: Int, keyBytes: Int, valueBytes: Int)
        throws(ChatError)

    /// A JSON object of numbers by key, a protobuf `map<string, int64>`; always there in JSON.
    mutating func counts(_ number: Int, _ name: StaticString, _ counts: inout [TallyCount]) throws(ChatError)

    /// One case of a choice: `current` when the message is in this case, `set` when the input is.
    /// - Parameter protobufName: the name in the schema, where the JSON name is taken.
    /// - Returns: whether the field was there (when reading) or written.
    @discardableResult
    mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, protobufName: StaticString?, _ current: () -> V?,
        _ set: (V) -> Void
    ) throws(ChatError) -> Bool

    /// A list whose items have been encoded before, by a walker of this kind: in JSON the text of the array, in
    /// protobuf the fields with their tags. Only for what is written and never read.
    mutating func encoded(_ number: Int, _ name: StaticString, _ bytes: [UInt8])
}

extension FieldWalker {
    public var mayHaveMore: Bool { true }
    public func mayHave(before number: Int) -> Bool { true }

    public mutating func required<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, known: inout KnownParts<V>
    ) throws(ChatError) { try required(number, name, &value, .none) }

    public mutating func encoded(_ number: Int, _ name: StaticString, _ bytes: [UInt8]) {
        preconditionFailure("what is encoded already is only written")
    }
}

extension FieldWalker {
    /// A required field without a limit.
    @inlinable
    public mutating func required<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V)
        throws(ChatError)
    { try required(number, name, &value, .none) }

    /// An optional field without a limit.
    @inlinable
    public mutating func optional<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V?)
        throws(ChatError)
    { try optional(number, name, &value, .none) }

    /// A defaulted field without a limit.
    @inlinable
    public mutating func defaulted<V: WireValue & Equatable>(
        _ number: Int, _ name: StaticString, _ value: inout V, default fallback: V
    ) throws(ChatError) { try defaulted(number, name, &value, default: fallback, .none) }

    /// A shown field without a limit.
    @inlinable
    public mutating func shown<V: WireValue>(_ number: Int, _ name: StaticString, _ value: inout V) throws(ChatError) {
        try shown(number, name, &value, .none)
    }

    /// A list that is written in JSON only when it is not empty.
    @inlinable
    public mutating func repeated<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], itemsMax: Int = .max, _ limit: FieldLimit = .none
    ) throws(ChatError) { try repeated(number, name, &values, always: false, itemsMax: itemsMax, limit) }

    /// A list that is always written in JSON.
    @inlinable
    public mutating func list<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], itemsMax: Int = .max, _ limit: FieldLimit = .none
    ) throws(ChatError) { try repeated(number, name, &values, always: true, itemsMax: itemsMax, limit) }

    /// One case of a choice whose JSON name is also its name in the schema.
    @inlinable
    @discardableResult
    public mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, _ current: () -> V?, _ set: (V) -> Void
    ) throws(ChatError) -> Bool { try choice(number, name, protobufName: nil, current, set) }
}

extension FieldWalker {
    /// A list that is absent or there: nil is not written, an empty one is in JSON. Protobuf has no empty lists, so
    /// they are read as nil there.
    @inlinable
    public mutating func repeatedIfAny<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V]?
    ) throws(ChatError) {
        if values == nil, !Self.isDecoding, !Self.describesSchema { return }
        var list = values ?? []
        let isThere = try repeated(number, name, &list, always: true, itemsMax: .max, .none)
        if Self.isDecoding { values = isThere ? list : nil }
    }
}
