import ChatModel

/// The query of a request, decoded. Unknown names are ignored; a known one may stand there once.
///
/// A `+` is a plus sign, not a space: user IDs may contain it, and no parameter has spaces.
struct QueryParameters: Sendable {
    private let pairs: [(name: String, value: String)]

    /// More pairs than any route has use for are refused before they are looked at.
    static let pairsMax = 32

    init(_ query: Substring) throws(ChatError) {
        let parts = query.split(separator: "&", maxSplits: Self.pairsMax, omittingEmptySubsequences: true)
        guard parts.count <= Self.pairsMax else {
            throw ChatError(.badParameter, "the query has more than \(Self.pairsMax) parameters")
        }
        var pairs: [(name: String, value: String)] = []
        for part in parts {
            let halves = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = halves.first.flatMap(PercentCoding.decode) else {
                throw ChatError(.badParameter, "the query has a name with a broken percent escape")
            }
            guard let value = halves.count == 2 ? PercentCoding.decode(halves[1]) : "" else {
                throw ChatError(.badParameter, "\(name.prefix(64)) has a broken percent escape", field: name)
            }
            pairs.append((name, value))
        }
        self.pairs = pairs
    }

    /// - Returns: nil when the parameter is absent or empty, as in `?after=`.
    func text(_ name: String) throws(ChatError) -> String? {
        var found: String?
        for pair in pairs where pair.name == name {
            guard found == nil else { throw ChatError(.badParameter, "\(name) is given twice", field: name) }
            found = pair.value
        }
        return found?.isEmpty == true ? nil : found
    }

    /// A decimal number within `range`.
    func number<Number: FixedWidthInteger>(_ name: String, in range: ClosedRange<Number>) throws(ChatError) -> Number? {
        guard let text = try text(name) else { return nil }
        guard let number = Number(text), range.contains(number) else {
            throw ChatError(
                .badParameter, "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)", field: name)
        }
        return number
    }

    /// One of the names of `Choice`.
    func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String, of type: Choice.Type)
        throws(ChatError) -> Choice?
    {
        guard let text = try text(name) else { return nil }
        return try Self.choice(name, text)
    }

    /// Comma-separated names of `Choice`; empty when the parameter is absent.
    func choices<Choice: RawRepresentable<String> & CaseIterable>(_ name: String, of type: Choice.Type)
        throws(ChatError) -> [Choice]
    {
        guard let text = try text(name) else { return [] }
        let names = text.split(separator: ",", omittingEmptySubsequences: false)
        guard names.count <= Choice.allCases.count else {
            throw ChatError(.badParameter, "\(name) has more than \(Choice.allCases.count) names", field: name)
        }
        var choices: [Choice] = []
        for one in names { choices.append(try Self.choice(name, String(one))) }
        return choices
    }

    /// An opaque cursor of an earlier answer; what it means is the service's affair.
    func cursor(_ name: String) throws(ChatError) -> String? {
        guard let text = try text(name) else { return nil }
        guard text.utf8.count <= Limits.opaqueIDBytes else {
            throw ChatError(.badParameter, "\(name) is not a cursor of an earlier answer", field: name)
        }
        return text
    }

    /// How many items of a listing are wanted.
    func limit(default items: Int64 = Limits.pageItemsDefault) throws(ChatError) -> Int {
        let limit = try number("limit", in: 1...Limits.pageItems) ?? items
        return Int(limit)
    }

    private static func choice<Choice: RawRepresentable<String> & CaseIterable>(_ name: String, _ text: String)
        throws(ChatError) -> Choice
    {
        guard let choice = Choice.allCases.first(where: { $0.rawValue == text }) else {
            let all = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw ChatError(.badParameter, "\(name) must be one of \(all)", field: name)
        }
        return choice
    }
}
