import ChatModel
import Cryptography
import Testing

@testable import Media

@Suite struct MediaCoreTests {
    private static func room(_ text: String = "r") throws -> RoomID { try #require(RoomID(text)) }

    @Test func `a token gives its right and no other, until its end, on all nodes that have the key`() throws {
        let secrets = [SecureRandom.bytes(32), SecureRandom.bytes(32)]
        let (seal, other) = (MediaSeal(secrets: secrets), MediaSeal(secrets: secrets.reversed()))
        let reader = MediaReader(user: try #require(UserID("ann")), session: try #require(SessionID("s-1~n1")))
        let rights: [MediaSeal.Right] = [
            .read(try Self.room(), reader), .review(try Self.room("a#b"), "m"), .write(try Self.room(), "m"),
        ]
        for right in rights {
            let token = seal.token(right, until: Timestamp(1000))
            #expect(seal.open(token, at: Timestamp(999)) == right && other.open(token, at: Timestamp(0)) == right)
            #expect(seal.open(token, at: Timestamp(1000)) == nil, "it is over")
            #expect(!token.contains("ann") && token != seal.token(right, until: Timestamp(1000)))
            #expect(MediaSeal.ofThisRun().open(token, at: Timestamp(0)) == nil, "another cluster's")
            for place in 0..<token.utf8.count {
                var bytes = Array(token.utf8)
                bytes[place] = bytes[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                #expect(seal.open(String(decoding: bytes, as: UTF8.self), at: Timestamp(0)) == nil)
                #expect(seal.open(String(token.prefix(place)), at: Timestamp(0)) == nil)
            }
        }
        #expect(seal.open(String(repeating: "A", count: 100_000), at: Timestamp(0)) == nil)
    }

    @Test func `only listed types whose first bytes agree are shown inside a page`() {
        let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 0]
        let right: [(String, [UInt8])] = [
            ("image/png", png), ("IMAGE/PNG; charset=x", png), ("image/jpeg", [0xFF, 0xD8, 0xFF, 0xE0]),
            ("image/gif", Array("GIF89a".utf8)), ("image/webp", Array("RIFF....WEBPVP8 ".utf8)),
            ("image/avif", Array("....ftypavif".utf8)), ("video/mp4", Array("....ftypisom".utf8)),
            ("audio/mp4", Array("....ftypM4A ".utf8)), ("video/webm", [0x1A, 0x45, 0xDF, 0xA3]),
            ("audio/mpeg", Array("ID3".utf8)), ("audio/mpeg", [0xFF, 0xFB, 0x90]), ("audio/aac", [0xFF, 0xF1, 0x50]),
            ("audio/ogg", Array("OggS".utf8)),
        ]
        for (type, bytes) in right {
            #expect(ContentTypes.isInline(type, beginning: bytes), "\(type)")
            #expect(!ContentTypes.isInline(type, beginning: Array("<html><script>".utf8)), "\(type)")
            #expect(!ContentTypes.isInline(type, beginning: bytes.prefix(1)), "\(type)")
            for other in ["image/svg+xml", "text/html", "application/pdf", "text/javascript", ""] {
                #expect(!ContentTypes.isInline(other, beginning: bytes), "\(other)")
            }
        }
        #expect(!ContentTypes.isInline("image/png", beginning: [0xFF, 0xD8, 0xFF, 0xE0]))
    }

    @Test func `ranges are those of RFC 9110, and what is not understood is all of it`() {
        let cases: [(String?, ByteRange)] = [
            (nil, .all), ("bytes=0-", .part(0..<10)), ("bytes=0-0", .part(0..<1)), ("bytes=3-5", .part(3..<6)),
            ("bytes=3-99", .part(3..<10)), ("bytes=-4", .part(6..<10)), ("bytes=-99", .part(0..<10)),
            ("bytes=10-", .outside), ("bytes=-0", .outside), ("bytes=5-3", .all), ("bytes=0-1,3-4", .all),
            ("items=0-1", .all), ("bytes=a-b", .all), ("bytes=-", .all), ("bytes=", .all),
            ("bytes=99999999999999999999-", .all), ("bytes=+1-2", .all),
        ]
        for (header, expected) in cases { #expect(ByteRange(header, size: 10) == expected, "\(header ?? "none")") }
        #expect(ByteRange("bytes=0-", size: 0) == .outside)
    }

    @Test func `a node that goes moves only what it had`() throws {
        let nodes = try ["n1", "n2", "n3", "n4"].map { try #require(NodeID($0)) }
        var moved = 0
        var counts: [NodeID: Int] = [:]
        for number in 0..<400 {
            let before = MediaPlaces.order(of: "\(number)", among: nodes)
            #expect(before == MediaPlaces.order(of: "\(number)", among: nodes.reversed()))
            #expect(MediaPlaces.order(of: "\(number)", among: nodes.dropLast()) == before.filter { $0 != nodes[3] })
            if before.prefix(2).contains(nodes[3]) { moved += 1 }
            for node in before.prefix(2) { counts[node, default: 0] += 1 }
        }
        #expect((100...300).contains(moved) && counts.values.allSatisfy { (100...300).contains($0) })
    }

    @Test func `names of files are made of what a server has made, and are read back`() throws {
        let room = try Self.room("a#b/".replacing("/", with: "|"))
        let id = MediaID(in: room, random: (1, 2)).text
        let digest = String(repeating: "0f", count: 32)
        let name = try #require(MediaName(room: room, id: id, digest: digest))
        let parts = name.path.split(separator: "/").map(String.init)
        #expect(parts.count == 3 && parts.joined().allSatisfy { $0.isHexDigit || $0 == "-" })
        #expect(MediaName.room(ofFolder: parts[1]) == room && MediaName(room: room, file: parts[2]) == name)
        for (id, digest) in [("..", digest), (id, "../x"), (id + "/", digest), (id, String(digest.dropLast()))] {
            #expect(MediaName(room: room, id: id, digest: digest) == nil)
        }
        #expect(MediaName.room(ofFolder: "xyz") == nil && MediaName.room(ofFolder: "2f") == nil)
    }
}
