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
        guard body.count >= length else { return nil }
        return HTTPAnswer(status: status, body: String(decoding: body.prefix(length), as: UTF8.self), headers: headers)
    }

    /// The members of the JSON object that the body is.
    func fields() throws -> [String: Any] {
        guard let fields = try JSONSerialization.jsonObject(with: Data(body.utf8)) as? [String: Any] else {
            throw TestFailure("no JSON object: \(body)")
        }
        return fields
    }
}
