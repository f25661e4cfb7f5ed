import ControlClient

/// JSON written down in Swift, as the conformance checks do.
extension JSONTree: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    init(stringLiteral value: String) { self = .text(value) }

    init(integerLiteral value: Int64) { self = .integer(value) }

    init(booleanLiteral value: Bool) { self = .boolean(value) }

    init(arrayLiteral elements: JSONTree...) { self = .array(elements) }

    init(dictionaryLiteral elements: (String, JSONTree)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }

    /// This object with the members of another one added.
    func adding(_ other: JSONTree) -> JSONTree {
        guard case .object(let mine) = self, case .object(let more) = other else { return self }
        return .object(mine.merging(more) { _, last in last })
    }
}
