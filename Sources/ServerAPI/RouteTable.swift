import ChatModel

/// All routes, and which of them a request means. The OpenAPI document is made from the same list.
struct RouteTable: Sendable {
    let routes: [Route]
    private let patterns: [[PathSegment]]

    init(_ routes: [Route]) {
        self.routes = routes
        patterns = routes.map(\.segments)
    }

    enum Match: Sendable {
        case route(Route, parameters: [String: String])
        /// The path exists with these methods only.
        case otherMethods([APIMethod])
        case none
    }

    /// More segments than any route has are not looked at.
    static let segmentsMax = 16

    /// - Parameters:
    ///   - method: as sent; methods are case-sensitive (RFC 9110, section 9.1).
    ///   - path: the request target without its query, still percent-encoded.
    /// - Throws: 414 naming the parameter whose percent escape is broken.
    func match(method: String, path: Substring) throws(ChatError) -> Match {
        guard path.first == "/" else { return .none }
        let pieces = path.dropFirst().split(
            separator: "/", maxSplits: Self.segmentsMax, omittingEmptySubsequences: false)
        // A literal goes before a parameter: /messages/recall is not a message.
        var best: (index: Int, literals: Int)?
        var methods: [APIMethod] = []
        for (index, pattern) in patterns.enumerated() where Self.fits(pattern, pieces) {
            guard routes[index].method.rawValue == method else {
                methods.append(routes[index].method)
                continue
            }
            let literals = pattern.count { if case .literal = $0 { true } else { false } }
            if best.map({ literals > $0.literals }) ?? true { best = (index, literals) }
        }
        guard let best else { return methods.isEmpty ? .none : .otherMethods(methods) }
        var parameters: [String: String] = [:]
        for (segment, piece) in zip(patterns[best.index], pieces) {
            guard case .parameter(let name) = segment else { continue }
            guard let value = PercentCoding.decode(piece) else {
                throw ChatError(.badParameter, "the path has a broken percent escape", field: name)
            }
            parameters[name] = value
        }
        return .route(routes[best.index], parameters: parameters)
    }

    private static func fits(_ pattern: [PathSegment], _ pieces: [Substring]) -> Bool {
        guard pattern.count == pieces.count else { return false }
        return zip(pattern, pieces).allSatisfy { segment, piece in
            switch segment {
            case .literal(let text): piece == text
            case .parameter: true
            }
        }
    }
}
