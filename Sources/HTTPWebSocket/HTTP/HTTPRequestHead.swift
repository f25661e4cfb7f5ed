/// The head of an HTTP/1 request (RFC 9112 §3).
public struct HTTPRequestHead: Sendable, Hashable {
    public var method: String
    /// As it came; of a whole URL, as clients give it to a proxy, what follows its authority (RFC 9112 §3.2.2).
    public var target: String
    /// Whether the client speaks HTTP/1.0, which knows neither chunks nor connections that live on by themselves.
    public var isVersion10: Bool
    /// Those that its reader asked for, in the order in which they came.
    public var headers: [HTTPHeader]
    /// Whether there is a header `Forwarded`, `X-Forwarded-…`, `Via` or `X-Real-IP`, read or not.
    public var isForwarded = false

    /// The first value of the header, whose name is given in lower case.
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

    /// The rules by which one reader recognises a request. Everything else is the same for all.
    struct Rules: Sendable {
        /// The headers that are read, in lower case; of the others only the framing is looked at.
        var names: [StaticString]
        /// Those of `names` of which there may be only one: of two, a proxy and this server could read different ones.
        var singles: Set<String>
        var limits: HTTPHeadLimits
        var takesVersion10: Bool
        var isTarget: @Sendable (ArraySlice<UInt8>) -> Bool
    }

    private static func originForm(of target: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard target.first != UInt8(ascii: "/"),
            let scheme = ["http://", "https://"].first(where: { HTTPSyntax.begins(target, with: $0) })
        else { return target }
        let rest = target.dropFirst(scheme.utf8CodeUnitCount)
        guard let end = rest.firstIndex(where: { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "?") }) else {
            return [0x2F]
        }
        return rest[end] == UInt8(ascii: "/") ? rest[end...] : [0x2F] + rest[end...]
    }

    /// Reads a head without the empty line at its end. The cost is linear in the bytes, whatever they are.
    /// - Throws: 400, 431 or 505.
    static func read(_ head: [UInt8], by rules: Rules) throws(HTTPRefusal) -> HTTPRequestHead {
        guard let lines = HTTPSyntax.lines(head), let first = lines.first else { throw .badRequest }
        guard lines.count - 1 <= rules.limits.headers,
            lines.dropFirst().allSatisfy({ $0.count <= rules.limits.headerBytes })
        else { throw .headersTooLarge }
        let parts = first.split(separator: 0x20, maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, !parts[0].isEmpty, parts[0].allSatisfy(HTTPSyntax.isToken), !parts[1].isEmpty,
            rules.isTarget(parts[1])
        else { throw .badRequest }
        let isVersion10 = parts[2].elementsEqual("HTTP/1.0".utf8)
        guard parts[2].elementsEqual("HTTP/1.1".utf8) || isVersion10 && rules.takesVersion10 else {
            throw parts[2].starts(with: "HTTP/".utf8)
                ? HTTPRefusal(status: 505, reason: "HTTP Version Not Supported") : .badRequest
        }
        var headers: [HTTPHeader] = []
        var seen: Set<String> = []
        for line in lines.dropFirst() {
            switch HTTPSyntax.header(line, of: rules.names) {
            case .header(let header):
                guard !rules.singles.contains(header.name) || seen.insert(header.name).inserted else {
                    throw .badRequest
                }
                headers.append(header)
            case .skipped: break
            case .broken: throw .badRequest
            }
        }
        var read = HTTPRequestHead(
            method: String(decoding: parts[0], as: UTF8.self),
            target: String(decoding: originForm(of: parts[1]), as: UTF8.self), isVersion10: isVersion10,
            headers: headers)
        read.isForwarded = lines.dropFirst().contains { line in
            HTTPSyntax.begins(line, with: "x-forwarded-") || HTTPSyntax.begins(line, with: "forwarded:")
                || HTTPSyntax.begins(line, with: "via:") || HTTPSyntax.begins(line, with: "x-real-ip:")
        }
        return read
    }
}
