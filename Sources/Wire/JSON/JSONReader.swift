import ChatModel

/// Where a parsed text lies. The pointers hold while the closure runs that they were given to.
struct JSONContext {
    var nodes: UnsafeBufferPointer<JSONNode>
    var text: UnsafeRawBufferPointer
    var resolvedKeys: UnsafeRawBufferPointer
    var enforcesLimits: Bool

    func key(_ node: JSONNode) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: (node.isEscaped ? resolvedKeys : text)[Int(node.start)..<Int(node.end)])
    }

    func bytes(_ node: JSONNode) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: text[Int(node.start)..<Int(node.end)])
    }
}

/// One value of a parsed JSON text; it may not outlive the reading.
public struct JSONValue {
    let context: JSONContext
    let index: Int

    private var node: JSONNode { context.nodes[index] }

    var isNull: Bool { node.kind == .null }
    var isString: Bool { node.kind == .string }

    func string() throws(ChatError) -> String {
        guard node.kind == .string else { throw .wrongType("a string") }
        let bytes = context.bytes(node)
        guard node.isEscaped else { return String(decoding: bytes, as: UTF8.self) }
        return String(unsafeUninitializedCapacity: bytes.count) { JSONString.resolve(bytes, into: $0) }
    }

    func bool() throws(ChatError) -> Bool {
        switch node.kind {
        case .true: return true
        case .false: return false
        default: throw .wrongType("true or false")
        }
    }

    private func integer() throws(ChatError) -> (isNegative: Bool, magnitude: UInt64) {
        guard node.kind == .number, let integer = JSONNumber.integer(context.bytes(node)) else {
            throw .wrongType("an integer")
        }
        return integer
    }

    func int64() throws(ChatError) -> Int64 {
        let (isNegative, magnitude) = try integer()
        if isNegative {
            guard magnitude <= Int64.min.magnitude else { throw .wrongType("an integer of 64 bits") }
            return Int64(truncatingIfNeeded: 0 &- magnitude)
        }
        guard let value = Int64(exactly: magnitude) else { throw .wrongType("an integer of 64 bits") }
        return value
    }

    func uint64() throws(ChatError) -> UInt64 {
        let (isNegative, magnitude) = try integer()
        guard !isNegative || magnitude == 0 else { throw .wrongType("an integer that is not negative") }
        return magnitude
    }

    func double() throws(ChatError) -> Double {
        guard node.kind == .number, let number = Double(String(decoding: context.bytes(node), as: UTF8.self)),
            number.isFinite
        else { throw .wrongType("a number") }
        return number
    }

    func object() throws(ChatError) -> JSONReader {
        guard node.kind == .object else { throw .wrongType("an object") }
        return JSONReader(context: context, object: index)
    }

    /// Calls `body` with each item of an array.
    func forEachItem(_ body: (JSONValue) throws(ChatError) -> Void) throws(ChatError) {
        guard node.kind == .array else { throw .wrongType("an array") }
        var item = index + 1
        while item < Int(node.next) {
            try body(JSONValue(context: context, index: item))
            item = Int(context.nodes[item].next)
        }
    }

    /// The number of items of an array, or of keys of an object.
    func count() -> Int {
        var count = 0
        var item = index + 1
        while item < Int(node.next) {
            if node.kind == .object { item += 1 }
            item = Int(context.nodes[item].next)
            count += 1
        }
        return count
    }

    /// Calls `body` with each key and value of an object.
    func forEachPair(_ body: (String, JSONValue) throws(ChatError) -> Void) throws(ChatError) {
        guard node.kind == .object else { throw .wrongType("an object") }
        var item = index + 1
        while item < Int(node.next) {
            let key = String(decoding: context.key(context.nodes[item]), as: UTF8.self)
            try body(key, JSONValue(context: context, index: item + 1))
            item = Int(context.nodes[item + 1].next)
        }
    }
}

/// Fills a message in from a JSON object. Fields are looked up by name, from where the last one was found: input that
/// keeps the walk's order is read in one pass.
public struct JSONReader: FieldWalker {
    public static var isDecoding: Bool { true }
    public static var describesSchema: Bool { false }

    let context: JSONContext
    private let first: Int
    private let end: Int
    private var cursor: Int
    /// A bit for each key, by `mark`: most fields of a message are absent, and are not looked for.
    private let marks: UInt64
    private let keys: Int
    /// A bit for each key that was found, by its place; two keys of a long object may share one.
    private var found: UInt64 = 0

    init(context: JSONContext, object: Int) {
        self.context = context
        first = object + 1
        end = Int(context.nodes[object].next)
        cursor = first
        var (marks, keys, index): (UInt64, Int, Int) = (0, 0, first)
        while index < end {
            let key = context.key(context.nodes[index])
            marks |= Self.mark(count: key.count, first: key.first ?? 0)
            keys += 1
            index = Int(context.nodes[index + 1].next)
        }
        (self.marks, self.keys) = (marks, keys)
    }

    private static func mark(count: Int, first: UInt8) -> UInt64 { 1 << UInt64((count &* 5 &+ Int(first)) & 63) }

    public var enforcesLimits: Bool { context.enforcesLimits }
    public var mayHaveMore: Bool { found.nonzeroBitCount != keys }

    /// The value of a field, unless it is absent or null.
    private mutating func find(_ name: StaticString) -> JSONValue? {
        let mark = Self.mark(count: name.utf8CodeUnitCount, first: name.utf8CodeUnitCount > 0 ? name.utf8Start[0] : 0)
        guard marks & mark != 0 else { return nil }
        guard let found = find(name, from: cursor, to: end) ?? find(name, from: first, to: cursor) else { return nil }
        cursor = Int(context.nodes[found].next)
        self.found |= 1 << UInt64((found - first) & 63)
        let value = JSONValue(context: context, index: found)
        return value.isNull ? nil : value
    }

    private func find(_ name: StaticString, from start: Int, to end: Int) -> Int? {
        let count = name.utf8CodeUnitCount
        let wanted = UnsafeRawBufferPointer(start: name.utf8Start, count: count)
        var index = start
        while index < end {
            let node = context.nodes[index]
            if Int(node.end - node.start) == count, context.key(node).elementsEqual(wanted) { return index + 1 }
            index = Int(context.nodes[index + 1].next)
        }
        return nil
    }

    private func read<V: WireValue>(_ value: JSONValue, _ name: StaticString, _ limit: FieldLimit) throws(ChatError)
        -> V
    {
        do throws(ChatError) {
            let result = try V.readJSON(value)
            if enforcesLimits, let violation = result.violation(of: limit) { throw violation }
            return result
        } catch { throw error.inside(name) }
    }

    public mutating func required<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) {
        guard let found = find(name) else { throw .missing(name) }
        value = try read(found, name, limit)
    }

    public mutating func optional<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V?, _ limit: FieldLimit
    ) throws(ChatError) {
        guard let found = find(name) else { return value = nil }
        value = try read(found, name, limit) as V
    }

    public mutating func defaulted<V: WireValue & Equatable>(
        _ number: Int, _ name: StaticString, _ value: inout V, default fallback: V, _ limit: FieldLimit
    ) throws(ChatError) {
        guard let found = find(name) else { return value = fallback }
        value = try read(found, name, limit)
    }

    public mutating func shown<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) {
        if let found = find(name) { value = try read(found, name, limit) }
    }

    @discardableResult
    public mutating func repeated<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], always: Bool, itemsMax: Int, _ limit: FieldLimit
    ) throws(ChatError) -> Bool {
        values.removeAll()
        guard let found = find(name) else { return false }
        do throws(ChatError) {
            let count = found.count()
            if enforcesLimits, count > itemsMax { throw ChatError.tooMany(count, max: itemsMax) }
            values.reserveCapacity(count)
            try found.forEachItem { item throws(ChatError) in
                let value = try V.readJSON(item)
                if enforcesLimits, let violation = value.violation(of: limit) { throw violation }
                values.append(value)
            }
        } catch { throw error.inside(name) }
        return true
    }

    public mutating func map(
        _ number: Int, _ name: StaticString, _ pairs: inout [QueuePair], itemsMax: Int, keyBytes: Int, valueBytes: Int
    ) throws(ChatError) {
        pairs.removeAll()
        guard let found = find(name) else { throw .missing(name) }
        do throws(ChatError) {
            let count = found.count()
            if enforcesLimits, count > itemsMax { throw ChatError.tooMany(count, max: itemsMax) }
            try found.forEachPair { key, item throws(ChatError) in
                let pair = QueuePair(key: key, value: try item.string())
                if enforcesLimits, let violation = pair.violation(keyBytes: keyBytes, valueBytes: valueBytes) {
                    throw violation
                }
                pairs.append(pair)
            }
        } catch { throw error.inside(name) }
    }

    public mutating func counts(_ number: Int, _ name: StaticString, _ counts: inout [TallyCount]) throws(ChatError) {
        counts.removeAll()
        guard let found = find(name) else { throw .missing(name) }
        do throws(ChatError) {
            try found.forEachPair { key, item throws(ChatError) in
                counts.append(TallyCount(key: key, count: try Int64.readJSON(item)))
            }
        } catch { throw error.inside(name) }
    }

    @discardableResult
    public mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, protobufName: StaticString?, _ current: () -> V?,
        _ set: (V) -> Void
    ) throws(ChatError) -> Bool {
        guard let found = find(name) else { return false }
        do throws(ChatError) {
            set(try V.readJSON(found))
        } catch { throw error.inside(choice: name) }
        return true
    }
}

extension JSONReader: RequestWalker {
    func names(_ number: Int, _ name: StaticString) -> Bool { find(name, from: first, to: end).map(isValue) ?? false }

    func namesMore(than number: Int, _ name: StaticString) -> Bool {
        let own = find(name, from: first, to: end)
        var index = first
        while index < end {
            if index + 1 != own, isValue(index + 1) { return true }
            index = Int(context.nodes[index + 1].next)
        }
        return false
    }

    /// A null is an absent field.
    private func isValue(_ index: Int) -> Bool { context.nodes[index].kind != .null }
}
