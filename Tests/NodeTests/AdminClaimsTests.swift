import ChatModel
import Cryptography
import Foundation
import Logging
import ServerAPI
import SessionCore
import Testing

@testable import Node

/// Rights of admin keys and tokens.
@Suite struct AdminClaimsTests {
    private static let secret = "a secret of at least thirty-two bytes"
    private static let now: Int64 = 1_700_000_000

    private static func file(admin: [[String: String]], token: [[String: String]] = []) throws -> KeysFile {
        let data = try JSONSerialization.data(withJSONObject: ["admin": admin, "token": token])
        return try JSONDecoder().decode(KeysFile.self, from: data)
    }

    private static func keys(_ file: KeysFile) async throws -> TokenKeys {
        try file.check()
        return try await TokenKeys(
            file, keySets: KeySetReader(logger: Logger(label: "test")), now: { Timestamp(now * 1000) })
    }

    private static func administrator(_ claims: String, within record: [String: String] = [:]) async throws
        -> Administrator?
    {
        let key = ["kid": "k", "algorithm": "HS256", "use": "admin", "secret": secret].merging(record) { $1 }
        let keys = try await keys(try file(admin: [], token: [key]))
        let payload = #"{"sub":"ann","exp":\#(now + 60)\#(claims)}"#
        let token = try CompactJWS.token(
            Array(payload.utf8), kid: "k", signedBy: try JWSKey(secret: Array(secret.utf8)))
        return try await keys.administrator(bearer: token)
    }

    private static func ann(_ role: AdminRole, _ prefix: String? = nil) -> Administrator? {
        Administrator(name: "ann", role: role.rawValue, roomPrefix: prefix)
    }

    @Test func `a key has its role, a key without one is ADMIN, and one of an unknown role is no key`() async throws {
        let file = try Self.file(admin: [
            ["id": "root", "secret": Self.secret + "1"],
            ["id": "viewer", "secret": Self.secret + "2", "role": "READ", "roomPrefix": "show-"],
            ["id": "odd", "secret": Self.secret + "3", "role": "OWNER"],
        ])
        let keys = try await Self.keys(file)
        let root = try await keys.administrator(bearer: Self.secret + "1")
        #expect(root == Administrator(name: "root") && root?.role == .admin)
        let viewer = try await keys.administrator(bearer: Self.secret + "2")
        #expect(viewer?.role == .read && viewer?.roomPrefix == "show-")
        #expect(keys.adminKey("viewer")?.administrator == viewer)
        #expect(try await keys.administrator(bearer: Self.secret + "3") == nil)
        #expect(keys.adminKey("odd") == nil)
        #expect(file.keysOfUnknownRoles == ["odd"])
    }

    @Test(arguments: [
        (["role": "MODERATE"], "not a user"), (["roomPrefix": ""], "ok"), (["roomPrefix": "a b"], "ok"),
        (["roomPrefix": String(repeating: "x", count: 65)], "ok"),
    ])
    func `a moderator's ID must be a user's, and a prefix one that room IDs can have`(
        fields: [String: String], id: String
    ) throws {
        let file = try Self.file(admin: [["id": id, "secret": Self.secret].merging(fields) { $1 }])
        #expect(throws: NodeError.self) { try file.check() }
    }

    @Test(arguments: [
        #","sub":"bob""#, #","exp":1700000061"#, #","su\u0062":"bob""#, #","role":"READ","role":"ADMIN""#,
    ])
    func `a token that says something twice is refused`(claims: String) async throws {
        #expect(try await Self.administrator(claims) == nil)
        // Names that some encoders write with escapes are no fault.
        #expect(try await Self.administrator(#","https:\/\/a.example\/x":1,"aud":["a"]"#) == Self.ann(.admin))
    }

    @Test func `two keys of one ID are refused`() throws {
        let file = try Self.file(admin: [
            ["id": "root", "secret": Self.secret + "1"], ["id": "root", "secret": Self.secret + "2"],
        ])
        let error = #expect(throws: NodeError.self) { try file.check() }
        #expect(error?.message.contains("two admin keys have the id root") == true)
    }

    @Test func `a token has the role that it says, ADMIN without one, and none if that is unknown`() async throws {
        #expect(try await Self.administrator("") == Self.ann(.admin))
        for role in AdminRole.allCases {
            #expect(try await Self.administrator(#","role":"\#(role.rawValue)""#) == Self.ann(role))
        }
        let scoped = try await Self.administrator(#","role":"READ","roomPrefix":"show-""#)
        #expect(scoped == Self.ann(.read, "show-"))
        for claims in [#","role":"OWNER""#, #","role":7"#, #","role":["READ"]"#, #","roomPrefix":"""#] {
            #expect(try await Self.administrator(claims) == nil, "\(claims)")
        }
    }

    @Test func `a key's record is the most that its tokens may`() async throws {
        let record = ["role": "MODERATE", "roomPrefix": "show-"]
        #expect(try await Self.administrator("", within: record) == Self.ann(.moderate, "show-"))
        #expect(
            try await Self.administrator(#","roomPrefix":"show-a""#, within: record) == Self.ann(.moderate, "show-a"))
        for claims in [#","role":"ADMIN""#, #","role":"READ""#, #","roomPrefix":"other-""#] {
            #expect(try await Self.administrator(claims, within: record) == nil, "\(claims)")
        }
        #expect(try await Self.administrator(#","role":"READ""#, within: ["role": "ADMIN"]) == Self.ann(.read))
    }

    @Test func `a role in a client's token means nothing, whatever it is`() async throws {
        let key = ["kid": "k", "algorithm": "HS256", "use": "client", "secret": Self.secret]
        let keys = try await Self.keys(try Self.file(admin: [], token: [key]))
        for claims in [#","role":"ADMIN""#, #","role":7,"roomPrefix":[]"#] {
            let payload = #"{"sub":"ann","exp":\#(Self.now + 60)\#(claims)}"#
            let token = try CompactJWS.token(
                Array(payload.utf8), kid: "k", signedBy: try JWSKey(secret: Array(Self.secret.utf8)))
            #expect(try await keys.verify(token, skewSeconds: 0).user.text == "ann")
            #expect(try await keys.administrator(bearer: token) == nil)
        }
    }
}
