import ChatModel
import Cryptography
import Foundation
import ServerAPI
import Testing

@testable import Node

/// Signed requests (PROTOCOL.md, "Signed requests"). OpenSSL computed the signatures, as that section shows.
@Suite struct RequestSignatureTests {
    private static let key = HMACKey("an admin key of at least 32 bytes".utf8)

    private static let post = SignedRequest(
        key: "admin", time: "1732150000000", nonce: "n-0123456789abcdef",
        signature: "6173ed26e23bb75313aefe060ed57d194ba5d735279ed674f6423818f83bc133", method: "POST",
        path: "/v1/rooms/live%2D1/messages", query: "moderate=true&x=%20",
        body: Array(#"{"sender":"ann","type":"TEXT","text":"hé"}"#.utf8))
    /// Without query and body.
    private static let get = SignedRequest(
        key: "admin", time: "1732150000000", nonce: "x",
        signature: "0a0e998011b9d233e78ed44ee9e30397b199208b231a13e8ae5481a859af0af5", method: "GET", path: "/v1/rooms",
        query: "", body: [])

    @Test(arguments: [post, get])
    func `the signature is the one that OpenSSL makes`(request: SignedRequest) {
        #expect(RequestSignature.isValid(request, key: Self.key))
        var upper = request
        upper.signature = request.signature.uppercased()
        #expect(RequestSignature.isValid(upper, key: Self.key))
    }

    @Test func `everything but the key's name is signed`() {
        let changes: [(inout SignedRequest) -> Void] = [
            { $0.method = "PUT" }, { $0.path += "/" }, { $0.path = "/v1/rooms/live-1/messages" }, { $0.query = "" },
            { $0.time = "1732150000001" }, { $0.nonce += "0" }, { $0.body += [0x20] },
            // The same text, divided otherwise.
            {
                $0.nonce = "x"
                $0.time += "\nn-0123456789abcdef"
            },
        ]
        for change in changes {
            var request = Self.post
            change(&request)
            #expect(!RequestSignature.isValid(request, key: Self.key))
        }
        #expect(!RequestSignature.isValid(Self.post, key: HMACKey(SecureRandom.bytes(32))))
    }

    @Test(arguments: ["", "61", String(repeating: "g", count: 64), String(repeating: "0", count: 65), "６１"])
    func `what is no signature is refused`(text: String) {
        var request = Self.post
        request.signature = text
        #expect(!RequestSignature.isValid(request, key: Self.key))
        // Before anybody reads its body.
        let now = Timestamp(1_732_150_000_000)
        #expect(throws: ChatError.self) { try RequestSignature.check(request, at: now) }
        #expect(throws: Never.self) { try RequestSignature.check(Self.post, at: now) }
    }

    private func isAccepted(time: String, nonce: String = "n", at now: Int64) -> Bool {
        var request = Self.post
        (request.time, request.nonce) = (time, nonce)
        do throws(ChatError) {
            try RequestSignature.check(request, at: Timestamp(now))
            return true
        } catch {
            #expect(error.code == .unauthorized)
            return false
        }
    }

    @Test func `a request is good for five minutes before and after its time`() {
        let time: Int64 = 1_732_150_000_000
        for (off, isGood) in [(0, true), (300_000, true), (300_001, false)] as [(Int64, Bool)] {
            #expect(isAccepted(time: "\(time)", at: time + off) == isGood)
            #expect(isAccepted(time: "\(time)", at: time - off) == isGood)
        }
        for text in ["", "x", "0", "-1", "1732150000", "9223372036854775807", "9223372036854775808"] {
            #expect(!isAccepted(time: text, at: time))
        }
    }

    @Test func `a nonce is 1 to 64 visible characters`() {
        for nonce in ["!", "~", String(repeating: "a", count: 64)] {
            #expect(isAccepted(time: "1000", nonce: nonce, at: 1))
        }
        for nonce in ["", " ", "a b", "é", "\u{7F}", String(repeating: "a", count: 65)] {
            #expect(!isAccepted(time: "1000", nonce: nonce, at: 1))
        }
    }

    @Test func `only addresses of this machine count as loopback`() {
        for host in ["localhost", "127.0.0.1", "127.255.0.1", "::1", "::ffff:127.0.0.1"] {
            #expect(NodeConfiguration.isLoopback(host), "\(host)")
        }
        for host in ["127.example.com", "127.0.0.1.example.com", "0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "::2", ""] {
            #expect(!NodeConfiguration.isLoopback(host), "\(host)")
        }
    }
}
