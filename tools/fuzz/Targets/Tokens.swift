import ChatModel
import Crypto
import Foundation
import Gateway

@testable import Node

/// Tokens of clients and administrators.
extension FuzzTarget {
    /// The first byte tells: a token as it comes; or, up to a line feed, a header and behind it a payload, which are
    /// signed with a key of the node, so that what is behind the signature is reached; or bytes that are no token of its.
    static let tokens = FuzzTarget(name: "tokens", bytesMax: 8 << 10) { bytes in
        var input = FuzzInput(bytes)
        let flags = input.byte()
        let token: String
        switch flags % 4 {
        case 0: token = String(decoding: input.rest, as: UTF8.self)
        case 1, 2:
            let header = input.take(to: 0x0A)
            token = signed(header, input.all, by: flags % 4 == 1 ? .client : .administrator)
        default:
            let header = input.take(to: 0x0A)
            // One character of the signature is another.
            var text = Array(signed(header, input.all, by: .client).utf8)
            text[text.count - 9] = text[text.count - 9] == 0x41 ? 0x42 : 0x41
            token = String(decoding: text, as: UTF8.self)
        }
        let claims = waiting { try? await keys.verify(token, skewSeconds: 30) }
        // Half of the runs: it takes as long again.
        let administrator = flags & 4 == 0 ? nil : waiting { await keys.administrator(bearer: token) }
        require(flags % 4 != 3 || (claims == nil && administrator == nil), "a wrong signature is taken: \(token)")
        require(flags % 4 != 1 || administrator == nil, "a client's key makes an administrator: \(token)")
        require(flags % 4 != 2 || claims == nil, "an administrator's key makes a client: \(token)")
        guard let claims else { return }
        require(token.utf8.count <= Limits.tokenBytes, "a token of \(token.utf8.count) bytes is taken")
        require(claims.nick.utf8.count <= Limits.nickBytes, "a nick is too long")
        require(claims.avatar.utf8.count <= Limits.urlBytes, "an avatar is too long")
        require(claims.expiresAt.milliseconds > now - 31_000, "a token that has expired is taken")
    } seeds: { samples in
        let header = #"{"alg":"HS256","typ":"JWT","kid":"k1"}"#
        let admin = #"{"alg":"HS256","typ":"JWT","kid":"k2"}"#
        let payloads = [
            #"{"sub":"u1","exp":1700003600}"#,
            #"{"sub":"u1","exp":1700003600.5,"iat":1700000000,"nbf":1699999999,"rooms":["a","b"],"nick":"N","avatar":"https://a/b"}"#,
            #"{"sub":"u1","exp":1e300,"rooms":[],"iss":"i","aud":["a","b"]}"#, #"{"sub":"","exp":-1}"#,
            #"{"sub":"u1","exp":1699999000}"#, #"{"sub":"u1","exp":1700003600,"iat":1700009999}"#,
        ]
        var seeds: [[UInt8]] = []
        for payload in payloads {
            seeds.append([1] + Array("\(header)\n\(payload)".utf8))
            seeds.append([6] + Array("\(admin)\n\(payload)".utf8))
            seeds.append([7] + Array("\(header)\n\(payload)".utf8))
            seeds.append([0] + Array(signed(Array(header.utf8), Array(payload.utf8), by: .client).utf8))
        }
        for header in [
            #"{"alg":"none","kid":"k1"}"#, #"{"alg":"HS384","kid":"k1"}"#, #"{"alg":"ES256","kid":"k1"}"#,
            #"{"alg":"HS256","kid":"k1","crit":["x"]}"#, #"{"alg":"HS256","kid":"k1","zip":"DEF"}"#,
            #"{"alg":"HS256"}"#,
            #"{"alg":"HS256","kid":"k3"}"#, #"{"alg":"ES256","kid":"k3"}"#,
        ] { seeds.append([1] + Array("\(header)\n\(payloads[0])".utf8)) }
        return seeds + [[0] + Array("a.b.c".utf8), [0] + Array("..".utf8), [0]]
    }

    private enum Signer { case client, administrator }

    private static let now: Int64 = 1_700_000_000_000

    private static let keys: TokenKeys = {
        let publicKey = P256.Signing.PrivateKey().publicKey.pemRepresentation.replacingOccurrences(
            of: "\n", with: "\\n")
        let text = """
            {"admin":[{"id":"root","secret":"\(secret(.administrator))"}],"token":[
            {"kid":"k1","algorithm":"HS256","use":"client","secret":"\(secret(.client))"},
            {"kid":"k2","algorithm":"HS256","use":"admin","secret":"\(secret(.administrator))"},
            {"kid":"k3","algorithm":"ES256","use":"client","publicKey":"\(publicKey)"}]}
            """
        let keys: TokenKeys? = waiting {
            guard let file = try? JSONDecoder().decode(KeysFile.self, from: Data(text.utf8)) else { return nil }
            return try? await TokenKeys(file, now: { Timestamp(now) })
        }
        guard let keys else { fail("the keys can't be read") }
        return keys
    }()

    private static func secret(_ signer: Signer) -> String {
        String(repeating: signer == .client ? "c" : "a", count: 40)
    }

    /// The compact form (RFC 7515, section 3.1), whatever header and payload are.
    private static func signed(_ header: [UInt8], _ payload: [UInt8], by signer: Signer) -> String {
        let content = "\(base64URL(header)).\(base64URL(payload))"
        let code = HMAC<SHA256>.authenticationCode(
            for: Data(content.utf8), using: SymmetricKey(data: Data(secret(signer).utf8)))
        return "\(content).\(base64URL(Array(code)))"
    }

    private static func base64URL(_ bytes: [UInt8]) -> String {
        Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(
            of: "/", with: "_"
        ).replacingOccurrences(of: "=", with: "")
    }
}
