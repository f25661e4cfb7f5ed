import ChatModel
import Cryptography

/// AWS Signature Version 4 in the query of a URL ("presigned"): whoever has the URL may do what it says, once or often, until it
/// is over. All calls to a store are signed in this way, those of nodes as well.
///
/// A pure value: the same call at the same time has the same URL.
public struct S3Signer: Sendable {
    /// A call as it is signed.
    public struct Call: Sendable {
        public var method: String
        /// Host and, where it is not the scheme's own, port.
        public var authority: String
        /// Percent-encoded (`PercentEncoding`).
        public var path: String
        /// Not encoded.
        public var query: [(name: String, value: String)]
        /// The headers that the call has to have, besides `Host`. Others may come with it as well, except `x-amz-*`.
        public var headers: [(name: String, value: String)]

        public init(
            method: String, authority: String, path: String, query: [(name: String, value: String)] = [],
            headers: [(name: String, value: String)] = []
        ) {
            self.method = method
            self.authority = authority
            self.path = path
            self.query = query
            self.headers = headers
        }
    }

    private let accessKey: String
    private let secret: HMACKey
    private let region: String
    private let service: String

    public init(accessKey: String, secretKey: String, region: String, service: String = "s3") {
        self.accessKey = accessKey
        secret = HMACKey(Array("AWS4\(secretKey)".utf8))
        self.region = region
        self.service = service
    }

    /// The whole query of the URL, with the signature.
    /// - Parameter seconds: for which the URL holds, from `time` on; at most a week.
    public func query(of call: Call, at time: Timestamp, seconds: Int) -> String {
        let stamp = UTCTime.basic(time)
        let scope = "\(stamp.prefix(8))/\(region)/\(service)/aws4_request"
        let headers = Self.canonical(call.headers + [("host", call.authority)])
        let names = headers.map(\.name).joined(separator: ";")
        let query = Self.canonical(
            query: call.query + [
                ("X-Amz-Algorithm", Self.algorithm), ("X-Amz-Credential", "\(accessKey)/\(scope)"),
                ("X-Amz-Date", stamp), ("X-Amz-Expires", String(seconds)), ("X-Amz-SignedHeaders", names),
            ])
        let lines =
            [call.method, call.path, query] + headers.map { "\($0.name):\($0.value)" } + ["", names, Self.noPayload]
        let request = Hexadecimal.encode(SHA256.digest(of: Array(lines.joined(separator: "\n").utf8)))
        let text = [Self.algorithm, stamp, scope, request].joined(separator: "\n")
        let signature = Hexadecimal.encode(key(on: stamp.prefix(8)).code(of: Array(text.utf8)))
        return "\(query)&X-Amz-Signature=\(signature)"
    }

    private static let algorithm = "AWS4-HMAC-SHA256"
    /// URLs do not say what the bytes are; a header that is signed may.
    private static let noPayload = "UNSIGNED-PAYLOAD"

    private func key(on date: Substring) -> HMACKey {
        let ofDate = HMACKey(secret.code(of: Array(date.utf8)))
        let ofRegion = HMACKey(ofDate.code(of: Array(region.utf8)))
        let ofService = HMACKey(ofRegion.code(of: Array(service.utf8)))
        return HMACKey(ofService.code(of: Array("aws4_request".utf8)))
    }

    /// By name, in lower case, with single spaces.
    private static func canonical(_ headers: [(name: String, value: String)]) -> [(name: String, value: String)] {
        headers.map { header in
            let words = header.value.utf8.split { $0 == 0x20 || $0 == 0x09 }
            return (
                header.name.lowercased(),
                words.map { String(decoding: Array($0), as: UTF8.self) }.joined(separator: " ")
            )
        }
        .sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// By encoded name, then by encoded value.
    private static func canonical(query: [(name: String, value: String)]) -> String {
        query.map { (name: PercentEncoding.encode($0.name), value: PercentEncoding.encode($0.value)) }
            .sorted { a, b in
                a.name == b.name
                    ? a.value.utf8.lexicographicallyPrecedes(b.value.utf8)
                    : a.name.utf8.lexicographicallyPrecedes(b.name.utf8)
            }
            .map { "\($0.name)=\($0.value)" }.joined(separator: "&")
    }
}
