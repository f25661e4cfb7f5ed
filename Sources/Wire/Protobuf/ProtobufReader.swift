import ChatModel

/// Fills a message in from protobuf. The fields may come in any order, of a repeated singular field the last counts,
/// and unknown fields are skipped, unless `ProtobufRules.allFields` refuses them. Input in ascending order, as every
/// common encoder writes it, is read in one pass without an index; other input is searched for each field, and refused
/// beyond `unorderedFieldsMax` fields, so that no input costs quadratic time.
public struct ProtobufReader: FieldWalker {
    public static var isDecoding: Bool { true }
    public static var describesSchema: Bool { false }
    /// Fields that a message whose field numbers do not ascend may have.
    public static let unorderedFieldsMax = 1024

    private let rules: ProtobufRules
    /// The number of a field that was passed without having been read; 0 when there was none.
    private var unread: UInt64 = 0
    private let bytes: UnsafeRawBufferPointer
    private var isAscending = true
    /// The offset of the upcoming field's tag, when fields ascend; all before it has been passed.
    private var position = 0
    /// The upcoming field's tag, and its end.
    private var tag: UInt64 = 0
    private var tagEnd = 0
    /// The number of the upcoming field, beyond all when there is none. Fields of lesser numbers do not come any more:
    /// most fields of most messages are absent, and are told by this. 0 where fields do not ascend.
    @usableFromInline var least: UInt64 = 0

    /// Checks the framing of the whole message, without going into nested ones.
    /// - Throws: 400 when it is broken.
    @usableFromInline
    init(_ bytes: UnsafeRawBufferPointer, rules: ProtobufRules) throws(ChatError) {
        self.bytes = bytes
        self.rules = rules
        var last: UInt64 = 0
        var count = 0
        var position = 0
        while position < bytes.count {
            let number = Self.skip(bytes, at: &position)
            guard number > 0 else { throw .malformed("not protobuf: a broken field at byte \(position)") }
            if number < last { isAscending = false }
            last = number
            count += 1
        }
        guard isAscending || count <= Self.unorderedFieldsMax else {
            throw .malformed("not accepted: more than \(Self.unorderedFieldsMax) fields out of order")
        }
        if isAscending { look() }
    }

    /// Moves behind the field at `position`.
    /// - Returns: its number; 0 if there is no whole one.
    @inline(__always)
    private static func skip(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> UInt64 {
        // Nearly all fields have a number below 16, and a value below 128 or a length below it.
        let left = bytes.count - position
        if left >= 2 {
            let tag = bytes[position], second = bytes[position + 1]
            if tag | second < 0x80, tag >= 8 {
                switch tag & 7 {
                case 0:
                    position += 2
                    return UInt64(tag >> 3)
                case 2 where Int(second) <= left - 2:
                    position += 2 + Int(second)
                    return UInt64(tag >> 3)
                default: break
                }
            }
        }
        return skipAny(bytes, at: &position)
    }

    @inline(never)
    private static func skipAny(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> UInt64 {
        guard let tag = Varint.read(bytes, at: &position), isNumber(tag >> 3) else { return 0 }
        var length: UInt64
        switch ProtobufWireType(tag: tag) {
        case .varint:
            guard Varint.read(bytes, at: &position) != nil else { return 0 }
            length = 0
        case .fixed64: length = 8
        case .fixed32: length = 4
        case .lengthDelimited:
            guard let count = Varint.read(bytes, at: &position) else { return 0 }
            length = count
        case nil: return 0
        }
        guard length <= UInt64(bytes.count - position) else { return 0 }
        position += Int(truncatingIfNeeded: length)
        return tag >> 3
    }

    private static func isNumber(_ number: UInt64) -> Bool { number > 0 && number < 1 << 29 }

    /// The value behind a tag, and moves behind it; nil if there is no whole one.
    @inline(__always)
    private static func value(
        of tag: UInt64, _ bytes: UnsafeRawBufferPointer, at position: inout Int, rules: ProtobufRules
    ) -> ProtobufValue? {
        guard let wireType = ProtobufWireType(tag: tag) else { return nil }
        switch wireType {
        case .varint:
            guard let number = Varint.read(bytes, at: &position) else { return nil }
            return ProtobufValue(.varint, number: number, rules: rules)
        case .fixed64:
            guard bytes.count - position >= 8 else { return nil }
            let number = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            position += 8
            return ProtobufValue(.fixed64, number: number, rules: rules)
        case .fixed32:
            guard bytes.count - position >= 4 else { return nil }
            let number = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt32.self))
            position += 4
            return ProtobufValue(.fixed32, number: UInt64(number), rules: rules)
        case .lengthDelimited:
            guard let length = Varint.read(bytes, at: &position), length <= UInt64(bytes.count - position) else {
                return nil
            }
            let start = bytes.baseAddress?.advanced(by: position)
            position += Int(truncatingIfNeeded: length)
            return ProtobufValue(.lengthDelimited, number: length, start: start, rules: rules)
        }
    }

    /// Whether a message has a field of that number, in front of whatever is broken in it.
    static func has(_ number: Int, in bytes: UnsafeRawBufferPointer) -> Bool {
        var position = 0
        while position < bytes.count {
            let found = skip(bytes, at: &position)
            if found == UInt64(number) { return true }
            if found == 0 { return false }
        }
        return false
    }

    public var enforcesLimits: Bool { rules.contains(.limits) }

    /// Call it when all fields have been visited.
    /// - Throws: `unknown` when the message has one that was not, and the rules refuse that.
    @inline(__always)
    @usableFromInline
    func end() throws(ChatError) {
        if rules.contains(.allFields), unread > 0 || mayHaveMore { throw unreadField }
    }

    private var unreadField: ChatError {
        guard isAscending else { return ChatError(.unknown, "the order of the fields is not known") }
        return ChatError(.unknown, "the field \(unread > 0 ? unread : least) is not known")
    }

    public var mayHaveMore: Bool { !isAscending || position < bytes.count }

    public func mayHave(before number: Int) -> Bool { least < UInt64(truncatingIfNeeded: number) }

    /// Calls `body` with each field of that number, in order.
    @usableFromInline
    mutating func forEach(_ number: Int, _ body: (ProtobufValue) throws(ChatError) -> Void) throws(ChatError) {
        let number = UInt64(truncatingIfNeeded: number)
        guard isAscending else { return try forEachOfAll(number, body) }
        while least <= number {
            let upcoming = least
            guard let value = pass() else { return }
            if upcoming == number { try body(value) } else { unread = upcoming }
        }
    }

    @inlinable
    mutating func find(_ number: Int) -> ProtobufValue? {
        UInt64(truncatingIfNeeded: number) < least ? nil : search(number)
    }

    /// The last one counts where there are several fields of that number.
    @usableFromInline
    mutating func search(_ number: Int) -> ProtobufValue? {
        let number = UInt64(truncatingIfNeeded: number)
        // Nearly always it is the upcoming field, and alone.
        guard least == number, let value = pass() else { return search(number, found: nil) }
        return least == number ? search(number, found: value) : value
    }

    @inline(never)
    private mutating func search(_ number: UInt64, found: ProtobufValue?) -> ProtobufValue? {
        var found = found
        guard isAscending else {
            forEachOfAll(number) { found = $0 }
            return found
        }
        while least <= number {
            let upcoming = least
            guard let value = pass() else { return nil }
            if upcoming == number { found = value } else { unread = upcoming }
        }
        return found
    }

    /// Looks at the tag at `position`.
    @inline(__always)
    private mutating func look() {
        var end = position
        guard let next = Varint.read(bytes, at: &end) else {
            (position, least) = (bytes.count, .max)
            return
        }
        (tag, tagEnd, least) = (next, end, next >> 3)
    }

    /// Moves behind the upcoming field, which is there.
    /// - Returns: its value; nil for a broken one, of which `init` has shown that there is none.
    @inline(__always)
    private mutating func pass() -> ProtobufValue? {
        var end = tagEnd
        guard let value = Self.value(of: tag, bytes, at: &end, rules: rules) else {
            (position, least) = (bytes.count, .max)
            return nil
        }
        position = end
        look()
        return value
    }

    /// Calls `body` with each field of that number, where fields do not ascend.
    @inline(never)
    private func forEachOfAll<Failure: Error>(
        _ number: UInt64, _ body: (ProtobufValue) throws(Failure) -> Void
    ) throws(Failure) {
        var position = 0
        while position < bytes.count {
            guard let tag = Varint.read(bytes, at: &position),
                let value = Self.value(of: tag, bytes, at: &position, rules: rules)
            else { return }
            if tag >> 3 == number { try body(value) }
        }
    }

    @inlinable
    func read<V: WireValue>(_ value: ProtobufValue, _ name: StaticString, _ limit: FieldLimit) throws(ChatError)
        -> V
    {
        do throws(ChatError) {
            let result = try V.readProtobuf(value)
            if enforcesLimits, let violation = result.violation(of: limit) { throw violation }
            return result
        } catch { throw error.inside(name) }
    }

    @inlinable
    public mutating func required<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) {
        guard let found = find(number) else { throw .missing(name) }
        value = try read(found, name, limit)
    }

    public mutating func required<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, known: inout KnownParts<V>
    ) throws(ChatError) {
        guard let found = find(number) else { throw .missing(name) }
        let isWhole = found.wireType == .lengthDelimited
        if isWhole, let part = known.part(of: found.content) { return value = part }
        value = try read(found, name, .none)
        if isWhole { known.note(value, of: found.content) }
    }

    @inlinable
    public mutating func optional<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V?, _ limit: FieldLimit
    ) throws(ChatError) {
        guard let found = find(number) else { return value = nil }
        value = try read(found, name, limit) as V
    }

    @inlinable
    public mutating func defaulted<V: WireValue & Equatable>(
        _ number: Int, _ name: StaticString, _ value: inout V, default fallback: V, _ limit: FieldLimit
    ) throws(ChatError) {
        guard let found = find(number) else { return value = fallback }
        value = try read(found, name, limit)
    }

    @inlinable
    public mutating func shown<V: WireValue>(
        _ number: Int, _ name: StaticString, _ value: inout V, _ limit: FieldLimit
    ) throws(ChatError) {
        if let found = find(number) { value = try read(found, name, limit) }
    }

    @inlinable
    @discardableResult
    public mutating func repeated<V: WireValue>(
        _ number: Int, _ name: StaticString, _ values: inout [V], always: Bool, itemsMax: Int, _ limit: FieldLimit
    ) throws(ChatError) -> Bool {
        if !values.isEmpty { values.removeAll() }
        if UInt64(truncatingIfNeeded: number) < least { return false }
        do throws(ChatError) {
            var items: [V] = []
            let enforcesLimits = enforcesLimits
            func take(_ value: ProtobufValue) throws(ChatError) {
                guard !enforcesLimits || items.count < itemsMax else {
                    throw .tooMany(items.count + 1, max: itemsMax)
                }
                let item = try V.readProtobuf(value)
                if enforcesLimits, let violation = item.violation(of: limit) { throw violation }
                items.append(item)
            }
            try forEach(number) { value throws(ChatError) in
                guard V.protobufType == .varint, value.wireType == .lengthDelimited else { return try take(value) }
                try Self.forEachPacked(value, take)
            }
            values = items
        } catch { throw error.inside(name) }
        return !values.isEmpty
    }

    /// Numbers of a repeated field may be packed into one field, or not: readers accept both.
    @usableFromInline
    static func forEachPacked(
        _ packed: ProtobufValue, _ body: (ProtobufValue) throws(ChatError) -> Void
    ) throws(ChatError) {
        var position = 0
        while position < packed.content.count {
            guard let number = Varint.read(packed.content, at: &position) else {
                throw .malformed("not protobuf: a broken packed field")
            }
            try body(
                ProtobufValue(.varint, number: number, rules: packed.rules))
        }
    }

    public mutating func map(
        _ number: Int, _ name: StaticString, _ pairs: inout [QueuePair], itemsMax: Int, keyBytes: Int, valueBytes: Int
    ) throws(ChatError) {
        pairs.removeAll()
        do throws(ChatError) {
            var items: [QueuePair] = []
            let enforcesLimits = enforcesLimits
            try forEach(number) { value throws(ChatError) in
                guard !enforcesLimits || items.count < itemsMax else {
                    throw .tooMany(items.count + 1, max: itemsMax)
                }
                let pair = try MapEntry.readProtobuf(value).pair
                if enforcesLimits, let violation = pair.violation(keyBytes: keyBytes, valueBytes: valueBytes) {
                    throw violation
                }
                items.append(pair)
            }
            guard Set(items.map { ExactText($0.key) }).count == items.count else {
                throw ChatError(.badParameter, "names a key twice")
            }
            pairs = items
        } catch { throw error.inside(name) }
    }

    public mutating func counts(_ number: Int, _ name: StaticString, _ counts: inout [TallyCount]) throws(ChatError) {
        counts.removeAll()
        do throws(ChatError) {
            var items: [TallyCount] = []
            try forEach(number) { value throws(ChatError) in items.append(try TallyCount.readProtobuf(value)) }
            counts = items
        } catch { throw error.inside(name) }
    }

    @inlinable
    @discardableResult
    public mutating func choice<V: WireValue>(
        _ number: Int, _ name: StaticString, protobufName: StaticString?, _ current: () -> V?,
        _ set: (V) -> Void
    ) throws(ChatError) -> Bool {
        guard let found = find(number) else { return false }
        do throws(ChatError) {
            set(try V.readProtobuf(found))
        } catch { throw error.inside(choice: name) }
        return true
    }
}

extension ProtobufReader: RequestWalker {
    func names(_ number: Int, _ name: StaticString) -> Bool { contains { $0 == UInt64(number) } }

    func namesMore(than number: Int, _ name: StaticString) -> Bool { contains { $0 != UInt64(number) } }

    private func contains(_ isWanted: (UInt64) -> Bool) -> Bool {
        var position = 0
        while position < bytes.count {
            let number = Self.skip(bytes, at: &position)
            guard number > 0 else { return false }
            if isWanted(number) { return true }
        }
        return false
    }
}
