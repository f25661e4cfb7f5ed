import Foundation

/// An HTTP answer.
struct HTTPAnswer: Sendable {
    var status: Int
    /// The body as text.
    var body: String
    /// By names in lower case.
    var headers: [String: String] = [:]

    /// Parses the first answer in the bytes; nil while it is incomplete.
    static func parse(_ bytes: [UInt8]) -> HTTPAnswer? {
        guard let end = Data(bytes).range(of: Data("\r\n\r\n".utf8)) else { return nil }
        let lines = String(decoding: bytes[..<end.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let words = (lines.first ?? "").split(separator: " ")
        guard words.count >= 2, let status = Int(words[1]) else { return nil }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2 else { continue }
            headers[halves[0].lowercased()] = halves[1].trimmingCharacters(in: .whitespaces)
        }
        let length = headers["content-length"].flatMap { Int($0) } ?? 0
        let body = bytes[end.upperBound...]
        if headers["transfer-encoding"] == "chunked" {
            return whole(body).map { HTTPAnswer(status: status, body: $0, headers: headers) }
        }
        guard body.count >= length else { return nil }
        return HTTPAnswer(status: status, body: String(decoding: body.prefix(length), as: UTF8.self), headers: headers)
    }

    /// The text of a chunked body; nil while its end is missing.
    private static func whole(_ chunked: ArraySlice<UInt8>) -> String? {
        var (rest, bytes): (ArraySlice<UInt8>, [UInt8]) = (chunked, [])
        while let end = rest.firstIndex(of: UInt8(ascii: "\r")) {
            guard let length = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16) else { return nil }
            if length == 0 { return String(decoding: bytes, as: UTF8.self) }
            guard rest.endIndex >= end + 2 + length + 2 else { return nil }
            bytes += rest[(end + 2)..<(end + 2 + length)]
            rest = rest[(end + 2 + length + 2)...]
        }
        return nil
    }

    /// The members of the JSON object that the body is.
    func fields() throws -> [String: Any] {
        guard let fields = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any] else {
            throw TestFailure("no JSON object: \(body)")
        }
        return fields
    }
}
