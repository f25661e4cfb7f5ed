import ChatModel

/// A strict parser (RFC 8259) that checks a whole text and leaves a flat list of its values, which point into it.
///
/// Beyond the grammar it refuses invalid UTF-8, escapes of lone surrogates, duplicate keys in one object and nesting
/// deeper than `depthMax`: readers differ in what such texts mean. Memory is bounded by the text: at most one node for
/// two bytes.
struct JSONDocument {
    static let depthMax = 32
    /// Objects with more keys than this are checked for duplicates by sorting instead of by comparing all pairs.
    private static let pairwiseKeysMax = 16

    private(set) var nodes: ContiguousArray<JSONNode> = []
    /// Keys that had escapes, resolved.
    private(set) var resolvedKeys: ContiguousArray<UInt8> = []

    private(set) var text = UnsafeRawBufferPointer(start: nil, count: 0)
    /// The position after what was parsed; after an error, that of the fault.
    private(set) var position = 0

    /// Parses one value of `text` from `position`, which may be preceded by white space.
    /// - Returns: the position after the value.
    /// - Throws: 400 for anything that is not a JSON value.
    mutating func parse(_ text: UnsafeRawBufferPointer, from position: Int) throws(ChatError) -> Int {
        guard text.count < Int(Int32.max) else { throw .malformed("the text is too long") }
        nodes.removeAll(keepingCapacity: true)
        // As many as most requests have: growing to them costs five allocations.
        if nodes.capacity == 0 { nodes.reserveCapacity(16) }
        resolvedKeys.removeAll(keepingCapacity: true)
        self.text = text
        self.position = position
        skipSpace()
        try value(depth: 0)
        return self.position
    }

    /// The position of the first byte from `position` on that is not white space.
    static func skipSpace(_ text: UnsafeRawBufferPointer, from position: Int) -> Int {
        var position = position
        while position < text.count, isSpace(text[position]) { position += 1 }
        return position
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private mutating func skipSpace() { position = Self.skipSpace(text, from: position) }

    private func fault(_ what: StaticString) -> ChatError { .malformed("not JSON: \(what) at byte \(position)") }

    /// The next byte, or 0 at the end, which no caller takes for a part of JSON.
    private var byte: UInt8 { position < text.count ? text[position] : 0 }

    private mutating func add(_ kind: JSONNode.Kind, from start: Int, to end: Int, isEscaped: Bool = false) {
        nodes.append(
            JSONNode(
                kind: kind, isEscaped: isEscaped, start: Int32(truncatingIfNeeded: start),
                end: Int32(truncatingIfNeeded: end), next: Int32(truncatingIfNeeded: nodes.count + 1)))
    }

    private mutating func value(depth: Int) throws(ChatError) {
        switch byte {
        case UInt8(ascii: "{"): try object(depth: depth + 1)
        case UInt8(ascii: "["): try array(depth: depth + 1)
        case UInt8(ascii: "\""):
            let (start, end, isEscaped) = try string()
            add(.string, from: start, to: end, isEscaped: isEscaped)
        case UInt8(ascii: "t"): try literal("true", .true)
        case UInt8(ascii: "f"): try literal("false", .false)
        case UInt8(ascii: "n"): try literal("null", .null)
        default:
            let start = position
            guard let end = JSONNumber.scan(text, from: position) else { throw fault("no value") }
            position = end
            add(.number, from: start, to: end)
        }
    }

    private mutating func literal(_ word: StaticString, _ kind: JSONNode.Kind) throws(ChatError) {
        let count = word.utf8CodeUnitCount
        guard text.count - position >= count,
            text[position..<position + count].elementsEqual(
                UnsafeBufferPointer(start: word.utf8Start, count: count))
        else { throw fault("no value") }
        add(kind, from: position, to: position + count)
        position += count
    }

    private mutating func open(_ kind: JSONNode.Kind, depth: Int) throws(ChatError) -> Int {
        guard depth <= Self.depthMax else { throw fault("nested too deep") }
        let index = nodes.count
        add(kind, from: position, to: position)
        position += 1
        skipSpace()
        return index
    }

    private mutating func close(_ index: Int) {
        position += 1
        nodes[index].next = Int32(truncatingIfNeeded: nodes.count)
    }

    private mutating func array(depth: Int) throws(ChatError) {
        let index = try open(.array, depth: depth)
        if byte == UInt8(ascii: "]") { return close(index) }
        while true {
            try value(depth: depth)
            skipSpace()
            if byte == UInt8(ascii: "]") { return close(index) }
            guard byte == UInt8(ascii: ",") else { throw fault("no comma or end of array") }
            position += 1
            skipSpace()
        }
    }

    private mutating func object(depth: Int) throws(ChatError) {
        let index = try open(.object, depth: depth)
        if byte == UInt8(ascii: "}") { return close(index) }
        var count = 0
        while true {
            guard byte == UInt8(ascii: "\"") else { throw fault("no key") }
            try key()
            count += 1
            skipSpace()
            guard byte == UInt8(ascii: ":") else { throw fault("no colon") }
            position += 1
            skipSpace()
            try value(depth: depth)
            skipSpace()
            if byte == UInt8(ascii: "}") { break }
            guard byte == UInt8(ascii: ",") else { throw fault("no comma or end of object") }
            position += 1
            skipSpace()
        }
        close(index)
        if count > 1, let key = duplicateKey(object: index, count: count) {
            if !nodes[key].isEscaped { position = Int(nodes[key].start) }
            throw fault("a key stands twice in an object")
        }
    }

    private mutating func key() throws(ChatError) {
        let (start, end, isEscaped) = try string()
        guard isEscaped else { return add(.key, from: start, to: end) }
        let resolvedStart = resolvedKeys.count
        let span = UnsafeRawBufferPointer(rebasing: text[start..<end])
        let resolved = [UInt8](unsafeUninitializedCapacity: span.count) { target, count in
            count = JSONString.resolve(span, into: target)
        }
        resolvedKeys.append(contentsOf: resolved)
        add(.key, from: resolvedStart, to: resolvedKeys.count, isEscaped: true)
    }

    private mutating func string() throws(ChatError) -> (start: Int, end: Int, isEscaped: Bool) {
        let start = position + 1
        switch JSONString.scan(text, from: start) {
        case .valid(let end, let isEscaped):
            position = end + 1
            return (start, end, isEscaped)
        case .invalid(let at, let what):
            position = at
            throw fault(what)
        }
    }

    // MARK: Duplicate keys

    private func duplicateKey(object: Int, count: Int) -> Int? {
        resolvedKeys.withUnsafeBytes { resolved in
            func bytes(_ index: Int) -> UnsafeRawBufferPointer {
                let node = nodes[index]
                return UnsafeRawBufferPointer(
                    rebasing: (node.isEscaped ? resolved : text)[Int(node.start)..<Int(node.end)])
            }
            let end = Int(nodes[object].next)
            guard count > Self.pairwiseKeysMax else {
                var index = object + 1
                while index < end {
                    let key = bytes(index)
                    var earlier = object + 1
                    while earlier < index {
                        if Self.order(bytes(earlier), key) == 0 { return index }
                        earlier = Int(nodes[earlier + 1].next)
                    }
                    index = Int(nodes[index + 1].next)
                }
                return nil
            }
            var keys: [Int] = []
            keys.reserveCapacity(count)
            var index = object + 1
            while index < end {
                keys.append(index)
                index = Int(nodes[index + 1].next)
            }
            keys.sort { Self.order(bytes($0), bytes($1)) < 0 }
            return zip(keys, keys.dropFirst()).first { Self.order(bytes($0), bytes($1)) == 0 }.map { max($0, $1) }
        }
    }

    /// Orders by length, then by bytes.
    private static func order(_ a: UnsafeRawBufferPointer, _ b: UnsafeRawBufferPointer) -> Int {
        guard a.count == b.count else { return a.count - b.count }
        for index in 0..<a.count where a[index] != b[index] { return Int(a[index]) - Int(b[index]) }
        return 0
    }
}
