import ChatModel
import Foundation
import Testing

@testable import Media

/// Signatures, compared with those of others.
@Suite struct S3SignerTests {
    /// A URL that botocore has signed (`Vectors/make-presigned.py`).
    struct Vector: Decodable, Sendable, CustomTestStringConvertible {
        var method: String
        var authority: String
        var path: String
        var query: [[String]]
        var headers: [[String]]
        var milliseconds: Int64
        var seconds: Int
        var region: String
        var signedHeaders: String
        var signature: String

        var testDescription: String { "\(method) \(authority)\(path)" }

        static let all: [Vector] = {
            let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors/presigned.json")
            guard let data = try? Data(contentsOf: file) else { return [] }
            return (try? JSONDecoder().decode([Vector].self, from: data)) ?? []
        }()
    }

    private static let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"

    private static func signer(_ region: String) -> S3Signer {
        S3Signer(accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: secret, region: region)
    }

    @Test func `there are vectors`() { #expect(Vector.all.count == 60) }

    @Test(arguments: Vector.all)
    func `a URL is signed as botocore signs it`(_ vector: Vector) {
        let call = S3Signer.Call(
            method: vector.method, authority: vector.authority, path: vector.path,
            query: vector.query.map { ($0[0], $0[1]) }, headers: vector.headers.map { ($0[0], $0[1]) })
        let query = Self.signer(vector.region).query(
            of: call, at: Timestamp(vector.milliseconds), seconds: vector.seconds)
        #expect(query.hasSuffix("&X-Amz-Signature=\(vector.signature)"))
        let names = vector.signedHeaders.replacing(";", with: "%3B")
        #expect(query.contains("X-Amz-SignedHeaders=\(names)"))
    }

    @Test func `a URL is signed as AWS has published it`() {
        // "Authenticating Requests: Using Query Parameters (AWS Signature Version 4)", its example.
        let call = S3Signer.Call(method: "GET", authority: "examplebucket.s3.amazonaws.com", path: "/test.txt")
        let query = Self.signer("us-east-1").query(of: call, at: Timestamp(1_369_353_600_000), seconds: 86_400)
        #expect(
            query
                == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    @Test func `everything that is signed changes the signature`() {
        func query(
            _ method: String = "GET", _ host: String = "h", _ path: String = "/k", _ value: String = "1",
            header: String = "1", _ time: Int64 = 0, _ seconds: Int = 60, _ region: String = "r"
        ) -> String {
            let call = S3Signer.Call(
                method: method, authority: host, path: path, query: [("a", value)], headers: [("x", header)])
            let query = Self.signer(region).query(of: call, at: Timestamp(time), seconds: seconds)
            return String(query.suffix(64))
        }
        let all = [
            query(), query("PUT"), query("GET", "i"), query("GET", "h", "/l"), query("GET", "h", "/k", "2"),
            query(header: "2"), query("GET", "h", "/k", "1", header: "1", 1000),
            query("GET", "h", "/k", "1", header: "1", 0, 61),
            query("GET", "h", "/k", "1", header: "1", 0, 60, "s"),
        ]
        #expect(Set(all).count == all.count && all[0] == query())
    }
}
