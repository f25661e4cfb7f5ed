/// The calls that a server offers, read from its OpenAPI document: also those that came after this program.
/// Probes and figures are no part of it: `health` and `metrics` show them.
package struct CallCatalogue: Sendable {
    package struct Call: Sendable, Hashable {
        package var name: String
        package var method: String
        /// With names in braces.
        package var path: String
        package var summary: String
        /// The names of its query parameters.
        package var query: [String]
        package var takesBody: Bool
        /// Whether it takes an Idempotency-Key, so that it may be sent to another node again.
        package var isIdempotent: Bool
    }

    /// A call as it is sent.
    package struct Prepared: Sendable {
        package var call: Call
        /// The segments after `/v1`.
        package var path: [String]
        package var query: [(String, String?)]
    }

    /// By path, then by method.
    package let calls: [Call]

    package init(document: JSONTree) {
        var calls: [Call] = []
        if case .object(let paths)? = document["paths"] {
            for (path, methods) in paths.sorted(by: { $0.key < $1.key }) where path.hasPrefix("/v1/") {
                guard case .object(let methods) = methods else { continue }
                for (method, operation) in methods.sorted(by: { $0.key < $1.key }) {
                    guard let name = operation["operationId"]?.text else { continue }
                    let parameters = operation["parameters"]?.items ?? []
                    calls.append(
                        Call(
                            name: name, method: method.uppercased(), path: path,
                            summary: operation["summary"]?.text ?? "",
                            query: parameters.filter { $0["in"]?.text == "query" }.compactMap { $0["name"]?.text },
                            takesBody: operation["requestBody"] != nil,
                            isIdempotent: parameters.contains { $0["name"]?.text == "Idempotency-Key" }))
                }
            }
        }
        self.calls = calls
    }

    /// - Parameter words: `name=value` for each name in braces of the path and for query parameters.
    /// - Throws: `usage`, with the names that there are.
    package func prepare(_ name: String, _ words: [String]) throws(CommandFailure) -> Prepared {
        guard let call = calls.first(where: { $0.name == name }) else {
            throw CommandFailure(.usage, "there is no call \(DisplayText.safe(name)); `chatroomctl call` lists all")
        }
        var values: [String: String] = [:]
        for word in words {
            let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
            guard parts.count == 2, !parts[0].isEmpty else {
                throw CommandFailure(.usage, "\(DisplayText.safe(word)) is not name=value; \(Self.usage(of: call))")
            }
            guard values.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw CommandFailure(.usage, "\(DisplayText.safe(parts[0])) is given twice")
            }
        }
        var path: [String] = []
        // The document's paths begin with /v1.
        for segment in call.path.split(separator: "/").dropFirst() {
            guard let named = Self.name(in: segment) else {
                path.append(String(segment))
                continue
            }
            guard let value = values.removeValue(forKey: named), !value.isEmpty else {
                throw CommandFailure(.usage, "\(named)=VALUE is missing; \(Self.usage(of: call))")
            }
            path.append(value)
        }
        let query = call.query.map { ($0, values.removeValue(forKey: $0)) }
        if let unknown = values.keys.min() {
            throw CommandFailure(
                .usage, "\(name) has no parameter \(DisplayText.safe(unknown)); \(Self.usage(of: call))")
        }
        return Prepared(call: call, path: path, query: query)
    }

    /// How the call is made, in one line.
    package static func usage(of call: Call) -> String {
        let named = call.path.split(separator: "/").compactMap { name(in: $0) }.map { "\($0)=VALUE" }
        let words = ["call", call.name] + named + call.query.map { "[\($0)=VALUE]" }
        return "chatroomctl " + words.joined(separator: " ") + (call.takesBody ? " [--body JSON]" : "")
    }

    private static func name(in segment: Substring) -> String? {
        guard segment.hasPrefix("{"), segment.hasSuffix("}") else { return nil }
        return String(segment.dropFirst().dropLast())
    }
}
