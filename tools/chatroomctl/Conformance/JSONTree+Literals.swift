import ControlClient

/// JSON written down in Swift, as the conformance checks do.
extension JSONTree: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    package init(stringLiteral value: String) { self = .text(value) }

    package init(integerLiteral value: Int64) { self = .integer(value) }

    package init(booleanLiteral value: Bool) { self = .boolean(value) }

    package init(arrayLiteral elements: JSONTree...) { self = .array(elements) }

    package init(dictionaryLiteral elements: (String, JSONTree)...) {
        self = .object(Dictionary(elements) { _, last in last })
    }

    /// This object with the members of another one added.
    func adding(_ other: JSONTree) -> JSONTree {
        guard case .object(let mine) = self, case .object(let more) = other else { return self }
        return .object(mine.merging(more) { _, last in last })
    }
}
