import ChatModel
import Cryptography
import CryptographyTestKit
import Foundation
import Logging
import Testing

@testable import Node

/// The records of the keys file.
struct KeysFileTests {
    private static func file(_ token: [[String: Any]]) throws -> KeysFile {
        let data = try JSONSerialization.data(withJSONObject: ["admin": [[String: Any]](), "token": token])
        return try JSONDecoder().decode(KeysFile.self, from: data)
    }

    /// Nil if it is a keys file that is taken.
    private static func refusal(_ record: [String: Any]) async throws -> NodeError? {
        do throws(NodeError) {
            let file: KeysFile
            do {
                file = try Self.file([record])
            } catch {
                return NodeError(.configuration, "\(error)")
            }
            try file.check()
            _ = try await TokenKeys(file, keySets: KeySetReader(logger: Logger(label: "test")), now: { Timestamp(0) })
            return nil
        } catch {
            return error
        }
    }

    @Test(
        arguments: [
            (#"{"admin":[],"token":[]}"#, nil), (#"{"admin":[],"token":[]"#, "is not JSON"), ("", "is not JSON"),
            (#"{"admin":[{"id":"a","secret":"SECRET","role":"READ","role":"ADMIN"}],"token":[]}"#, "stands twice"),
            (#"{"admin":[]}"#, "lacks token"), (#"{"admin":1,"token":[]}"#, "wrong type: admin"),
            (#"{"admin":[],"token":[],"tokens":[]}"#, "has tokens, which"),
            (#"{"admin":[{"id":"a","secret":"SECRET","rol":"READ"}],"token":[]}"#, "has admin[0].rol, which"),
            (#"{"admin":[{"id":"a"}],"token":[]}"#, "lacks admin[0].secret"),
            (#"{"admin":[],"token":[{"kid":"k","secret":"SECRET","use":"client"}]}"#, "lacks token[0].algorithm"),
            (
                #"{"admin":[],"token":[{"kid":"k","secret":"SECRET","use":"client","algorithm":"none"}]}"#,
                "token[0].algorithm"
            ),
            (#"{"admin":[{"id":"a","secret":"b","SECRET-SECRET":1}],"token":[]}"#, "has a field in admin[0], which"),
            (#"{"admin":[],"token":[],"cluster":[{"secret":"SECRET","id":1}]}"#, "has cluster[0].id, which"),
        ] as [(String, String?)])
    func `the fault of a file is named by its place, without its content`(content: String, fault: String?) throws {
        let path = FileManager.default.temporaryDirectory.path + "/keys-\(UUID().uuidString).json"
        #expect(
            FileManager.default.createFile(
                atPath: path, contents: Data(content.utf8), attributes: [.posixPermissions: 0o600]))
        defer { try? FileManager.default.removeItem(atPath: path) }
        do throws(NodeError) {
            _ = try KeysFile.read(path)
            #expect(fault == nil)
        } catch {
            #expect(error.message.contains(try #require(fault)) && !error.message.contains("SECRET"), "\(error)")
        }
    }

    private static var keySet: [String: Any] {
        [
            "jwksUrl": "https://login.example:8443/keys?x=1", "algorithms": ["RS256", "ES256"], "use": "client",
            "iss": "https://login.example", "aud": "chat",
        ]
    }

    @Test func `a record is a key or a key set`() throws {
        let key: [String: Any] = ["kid": "k", "algorithm": "HS256", "use": "admin", "secret": "s"]
        let file = try Self.file([key, Self.keySet])
        #expect(file.token.map(\.kid) == ["k"])
        let set = try #require(file.keySets.first)
        #expect(set.jwksUrl == "https://login.example:8443/keys?x=1")
        #expect(set.algorithms == [.RS256, .ES256])
        #expect(set.terms == TokenTerms(use: .client, iss: "https://login.example", aud: "chat"))
    }

    @Test func `a key set is fetched over HTTPS, says its algorithms, its use and its issuer, and holds no key`()
        async throws
    {
        #expect(try await Self.refusal(Self.keySet) == nil)
        let changes: [(String, Any?)] = [
            ("jwksUrl", "http://login.example/keys"), ("jwksUrl", "https:///keys"), ("jwksUrl", "file:///etc/passwd"),
            ("jwksUrl", "https://user:word@login.example/"), ("jwksUrl", "https://login.example/#x"), ("jwksUrl", ""),
            ("jwksUrl", "https://login.example/a b"), ("jwksUrl", "https://login.example:99999/"), ("jwksUrl", 1),
            ("jwksUrl", "https://login.example/" + String(repeating: "x", count: 1_024)), ("jwksUrl", NSNull()),
            ("algorithms", nil), ("algorithms", [String]()), ("algorithms", ["HS256"]),
            ("algorithms", ["RS256", "HS256"]), ("algorithms", ["none"]), ("algorithms", ["PS256"]),
            ("algorithms", "RS256"), ("use", nil), ("use", "both"), ("iss", nil), ("iss", ""), ("iss", NSNull()),
            ("kid", "k"), ("secret", "a secret of at least 32 bytes, really"), ("publicKey", "x"),
            ("algorithm", "RS256"),
        ]
        for (name, value) in changes {
            var record = Self.keySet
            record[name] = value
            #expect(try await Self.refusal(record) != nil, "\(name): \(String(describing: value))")
        }
    }

    @Test func `a key needs what its algorithm needs`() async throws {
        let secret = String(repeating: "s", count: 32)
        for signer in [TestSigner(.ES256), TestSigner(.RS256), TestSigner(.EdDSA)] {
            let algorithm = signer.algorithm.rawValue
            var record: [String: Any] = ["kid": "k", "algorithm": algorithm, "use": "client"]
            #expect(try await Self.refusal(record) != nil)
            record["secret"] = secret
            #expect(try await Self.refusal(record) != nil)
            record["publicKey"] = signer.publicKeyPEM
            #expect(try await Self.refusal(record) == nil)
            for other in ["ES256", "RS256", "EdDSA"] where other != algorithm {
                record["algorithm"] = other
                #expect(try await Self.refusal(record)?.message.contains("token key k") == true)
            }
        }
        for (text, isGood) in [(secret, true), (String(secret.dropLast()), false)] {
            let record = ["kid": "k", "algorithm": "HS256", "use": "client", "secret": text]
            #expect(try await (Self.refusal(record) == nil) == isGood)
        }
        for algorithm in ["none", "HS384", "PS256", "ES384", "ed25519", ""] {
            let record = ["kid": "k", "algorithm": algorithm, "use": "client", "secret": secret, "publicKey": "x"]
            #expect(try await Self.refusal(record) != nil)
        }
    }

    @Test func `at most sixteen key sets`() throws {
        func sets(_ count: Int) -> [[String: Any]] {
            (0..<count).map { Self.keySet.merging(["iss": "issuer \($0)"]) { $1 } }
        }
        #expect(throws: Never.self) { try Self.file(sets(16)).check() }
        #expect(throws: NodeError.self) { try Self.file(sets(17)).check() }
    }
}
