import ChatModel
import Cryptography
import Testing

@testable import Media

@Suite struct S3BucketTests {
    private static let signer = S3Signer(accessKey: "a", secretKey: "s", region: "r")

    private static func bucket(
        _ endpoint: String = "https://s3.example.org", style: S3Bucket.Style = .path, prefix: String = ""
    ) throws -> S3Bucket {
        try #require(S3Bucket(endpoint: endpoint, name: "media", style: style, prefix: prefix))
    }

    @Test func `the bucket's name is in the path or in the host`() throws {
        func start(_ bucket: S3Bucket) -> String {
            String(bucket.url("GET", "a b/ä", signedBy: Self.signer, at: Timestamp(0), seconds: 1).prefix { $0 != "?" })
        }
        #expect(start(try Self.bucket()) == "https://s3.example.org/media/a%20b/%C3%A4")
        #expect(start(try Self.bucket(style: .virtualHost)) == "https://media.s3.example.org/a%20b/%C3%A4")
        // A port that the scheme has anyway is not in the header Host, and so is not signed.
        #expect(start(try Self.bucket("https://s3.example.org:443/")) == "https://s3.example.org/media/a%20b/%C3%A4")
        #expect(start(try Self.bucket("http://[::1]:9000")) == "http://[::1]:9000/media/a%20b/%C3%A4")
        #expect(try Self.bucket("http://h", style: .virtualHost).origin == "http://media.h")
    }

    @Test(arguments: [
        "", "s3.example.org", "ftp://h", "https://", "https://h/path", "https://a b", "https://h?x", "https://h#x",
        "https://u@h", "https://h\r\n", "https://" + String(repeating: "a", count: 300),
    ])
    func `what is no address of a store is refused`(_ endpoint: String) {
        #expect(S3Bucket(endpoint: endpoint, name: "media", style: .path) == nil)
    }

    @Test func `names and prefixes that stores do not have are refused`() {
        for name in ["", "ab", "Media", "me/dia", "me dia", "mediä", String(repeating: "a", count: 64)] {
            #expect(S3Bucket(endpoint: "https://h", name: name, style: .path) == nil, "\(name)")
        }
        for prefix in ["a", "/a/", "a b/", "ä/", String(repeating: "a", count: 128) + "/"] {
            #expect(S3Bucket(endpoint: "https://h", name: "media", style: .path, prefix: prefix) == nil, "\(prefix)")
        }
    }

    @Test func `a key tells its content, and keys of others tell none`() throws {
        for prefix in ["", "chat/"] {
            let bucket = try Self.bucket(prefix: prefix)
            for text in ["r", "a#b", String(repeating: "~", count: 64)] {
                let room = try #require(RoomID(text))
                let id = MediaID(in: room, random: (1, 2)).text
                let digest = Hexadecimal.encode(SHA256.digest(of: [1]))
                let name = try #require(MediaName(room: room, id: id, digest: digest))
                #expect(bucket.item(of: bucket.key(of: name)) == .content(name))
                #expect(bucket.item(of: bucket.incomingKey(of: id, in: room)) == .incoming(room, id: id))
                let key = bucket.key(of: name)
                for end in key.indices { #expect(bucket.item(of: String(key[..<end])) == nil) }
                #expect(bucket.item(of: key + "0") == nil && bucket.item(of: "x" + key) == nil)
                // Another room's folder is no place of it.
                let other = try #require(RoomID("other"))
                let folder = MediaName.folder(of: other)
                #expect(bucket.item(of: key.replacing(MediaName.folder(of: room).prefix(3), with: "zz/")) == nil)
                #expect(bucket.item(of: "\(prefix)content/\(folder)/\(id)") == nil)
            }
            #expect(bucket.item(of: bucket.ownerKey) == nil && bucket.item(of: "") == nil)
            #expect(bucket.item(of: prefix + String(repeating: "content/", count: 1000)) == nil)
        }
    }

    @Test func `what the room keeps and what is young stays`() throws {
        let room = try #require(RoomID("r"))
        let id = MediaID(in: room, random: (1, 2)).text
        let digest = String(repeating: "a", count: 64)
        let content = S3Bucket.Item.content(try #require(MediaName(room: room, id: id, digest: digest)))
        let incoming = S3Bucket.Item.incoming(room, id: id)
        #expect(S3Cleaning.mayGo(content, digest: nil) && S3Cleaning.mayGo(incoming, digest: nil))
        #expect(!S3Cleaning.mayGo(content, digest: "") && !S3Cleaning.mayGo(incoming, digest: ""), "it is being sent")
        #expect(!S3Cleaning.mayGo(content, digest: digest) && S3Cleaning.mayGo(incoming, digest: digest))
        #expect(S3Cleaning.mayGo(content, digest: String(repeating: "b", count: 64)), "others' bytes count")
        #expect(S3Cleaning.isSettled(Timestamp(0), at: Timestamp(60_000)))
        #expect(!S3Cleaning.isSettled(Timestamp(1), at: Timestamp(60_000)))
    }
}
