import ChatModel
import Cryptography
import Foundation
import Gateway
import SessionCore

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
        let administrator = flags & 4 == 0 ? nil : waiting { try? await keys.administrator(bearer: token) }
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
            #"{"alg":"HS256","kid":"k3"}"#, #"{"alg":"ES256","kid":"k3"}"#, #"{"alg":"RS256","kid":"k4"}"#,
            #"{"alg":"EdDSA","kid":"k5"}"#, #"{"alg":"EdDSA","kid":"k5","alg":"HS256"}"#,
        ] { seeds.append([1] + Array("\(header)\n\(payloads[0])".utf8)) }
        return seeds + [[0] + Array("a.b.c".utf8), [0] + Array("..".utf8), [0]]
    }

    private enum Signer { case client, administrator }

    private static let now: Int64 = 1_700_000_000_000

    private static let keys: TokenKeys = {
        let text = """
            {"admin":[{"id":"root","secret":"\(secret(.administrator))"}],"token":[
            {"kid":"k1","algorithm":"HS256","use":"client","secret":"\(secret(.client))"},
            {"kid":"k2","algorithm":"HS256","use":"admin","secret":"\(secret(.administrator))"},
            {"kid":"k3","algorithm":"ES256","use":"client","publicKey":"\(pem(p256))"},
            {"kid":"k4","algorithm":"RS256","use":"client","publicKey":"\(pem(rsa))"},
            {"kid":"k5","algorithm":"EdDSA","use":"client","publicKey":"\(pem(ed25519))"},
            {"jwksUrl":"https://issuer.example","algorithms":["ES256"],"use":"client","iss":"i"}]}
            """
        let keys: TokenKeys? = waiting {
            guard let file = try? JSONDecoder().decode(KeysFile.self, from: Data(text.utf8)) else { return nil }
            return try? await TokenKeys(file, keySets: KeySetReader(), now: { Timestamp(now) })
        }
        guard let keys else { fail("the keys can't be read") }
        return keys
    }()

    private static func secret(_ signer: Signer) -> String {
        String(repeating: signer == .client ? "c" : "a", count: 40)
    }

    /// The compact form (RFC 7515, section 3.1), whatever header and payload are.
    private static func signed(_ header: [UInt8], _ payload: [UInt8], by signer: Signer) -> String {
        let content = "\(Base64URL.encode(header)).\(Base64URL.encode(payload))"
        let code = HMACKey(secret(signer).utf8).code(of: Array(content.utf8))
        return "\(content).\(Base64URL.encode(code))"
    }

    // Public keys; nobody has what belongs to them.

    private static func pem(_ text: String) -> String {
        "-----BEGIN PUBLIC KEY-----\\n\(text)\\n-----END PUBLIC KEY-----\\n"
    }

    private static let p256 = """
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEnlwWHIwTRBYHnGUDap4OJZEw+GCvQHVrr7twWYwteW8rtvg/l15U7UXiW0C6\
        0Soxkmk92ygU23P0GKSrlSgMeA==
        """
    private static let rsa = """
        MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEAqPEkCD7FEVFrFmshTA6sfNtbegMD+xOWITdkbLXUDnLG3Taug6i9\
        VNXEhjs5tNqdEOVpymY8h/nngBrj+dEJOUH0teul1t2lqm5V9/MHKMfPrJZYmI+z9ALVvfzZyxkvCAl9DgUpePeQ5JPpOhB5\
        XfiafAp8eTvb0ysoLEHFEKW5eiJ0225M8UIt0OUP6eBmFswrLBy6oV6xH2fz5TFYr305PE7/jIrrXWOZoCiUa8UyD8hEstSu\
        kUtE6oHQQuf50TR2CcNRcMKsEyaZxBfDykgu+fAsoKioyCPT0RqD0g9SY6jL4fwZhGUSwbefaXjKUhlNbc+cD9JeGGHDj644\
        CQIDAQAB
        """
    private static let ed25519 = "MCowBQYDK2VwAyEAEKds0LNMGHlf6WdxpOIYtzLqRLiclWaQsSqajNPyFaY="

    /// Documents that an issuer publishes: the keys that are taken are for the record's algorithms, and sign nothing.
    static let keySet = FuzzTarget(name: "keyset", bytesMax: 64 << 10) { bytes in
        guard let keys = try? KeySetDocument.keys(Array(bytes), for: [.ES256, .EdDSA]) else { return }
        require(keys.values.reduce(0) { $0 + $1.count } <= KeySetDocument.keysMax, "too many keys")
        for key in keys.values.joined() {
            require(key.algorithm == .ES256 || key.algorithm == .EdDSA, "a key of \(key.algorithm) is taken")
            require((try? CompactJWS.token([], kid: "k", signedBy: key)) == nil, "a published key signs")
        }
    } seeds: { samples in
        [
            #"{"keys":[]}"#,
            #"{"keys":[{"kty":"EC","crv":"P-256","kid":"e","use":"sig","alg":"ES256","x":"nlwWHIwTRBYHnGUDap4OJZEw-GCvQHVrr7twWYwteW8","y":"K7b4P5deVO1F4ltAutEqMZJpPdsoFNtz9Bikq5UoDHg"}]}"#,
            #"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"o","x":"EKds0LNMGHlf6WdxpOIYtzLqRLiclWaQsSqajNPyFaY"}]}"#,
            #"{"keys":[{"kty":"RSA","kid":"r","key_ops":["verify"],"n":"AQAB","e":"AQAB"}]}"#,
            #"{"keys":[{"kty":"oct","kid":"s","k":"c2VjcmV0"},{"kty":"EC","d":"AQ"},1,null,[]]}"#,
        ].map { Array($0.utf8) }
    }
}
