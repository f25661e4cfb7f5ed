import ChatModel
import Cryptography
import FoundationEssentials
import ServerAPI
import SwimDriver
import Wire

/// The secrets of a node, from a file that only its owner can read. Never logged.
struct KeysFile: Sendable, Decodable {
    struct AdminKey: Sendable, Decodable {
        var id: String
        var secret: String
        /// ADMIN when absent.
        var role: String?
        var roomPrefix: String?

        /// nil for a role that this program does not know: the key may do nothing.
        var administrator: Administrator? { AdminClaims(role: role, roomPrefix: roomPrefix).administrator(id) }
    }

    /// Seals what nodes tell each other; the same file on all nodes.
    struct ClusterKey: Sendable, Decodable {
        /// At least 32 bytes.
        var secret: String
    }

    var admin: [AdminKey]
    var token: [TokenKey]
    /// The records of the same list `token` that have a `jwksUrl`.
    var keySets: [KeySetRecord]
    /// The first one seals, all are accepted. Without any the node speaks to no other.
    var cluster: [ClusterKey]?

    private enum CodingKeys: CodingKey {
        case admin, token, cluster
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        admin = try members.decode([AdminKey].self, forKey: .admin)
        cluster = try members.decodeIfPresent([ClusterKey].self, forKey: .cluster)
        (token, keySets) = ([], [])
        for record in try members.decode([TokenRecord].self, forKey: .token) {
            switch record {
            case .key(let key): token.append(key)
            case .keySet(let record): keySets.append(record)
            }
        }
    }

    /// The cluster keys as the gossip uses them; nil when there are none.
    func clusterRing() throws(NodeError) -> KeyRing? {
        guard let cluster, !cluster.isEmpty else { return nil }
        let secrets = cluster.map { SHA256.digest(of: Array("chatroom cluster key".utf8), Array($0.secret.utf8)) }
        guard let ring = KeyRing(secrets) else {
            throw NodeError(.configuration, "there must be at most \(KeyRing.keysMax) cluster keys, all different")
        }
        return ring
    }

    static func read(_ path: String) throws(NodeError) -> KeysFile {
        try TLSFiles.requirePrivate(path, "the keys file")
        guard let data = FileManager.default.contents(atPath: path) else {
            throw NodeError(.configuration, "the keys file \(path) can't be read")
        }
        // Tells the place, and nothing of the content.
        if let fault = JSONText.fault(in: Array(data)) {
            throw NodeError(.configuration, "the keys file \(path) is \(fault)")
        }
        let (keys, names): (KeysFile, KeysFileNames)
        do {
            keys = try JSONDecoder().decode(KeysFile.self, from: data)
            names = try JSONDecoder().decode(KeysFileNames.self, from: data)
        } catch {
            throw NodeError(.configuration, "the keys file \(path) \(KeysFileNames.fault(in: error))")
        }
        if let name = names.unknown {
            throw NodeError(.configuration, "the keys file \(path) has \(name), which means nothing")
        }
        try keys.check()
        return keys
    }

    /// Keys with roles of which this program knows nothing: they are refused (401) wherever they are used.
    var keysOfUnknownRoles: [String] {
        func isUnknown(_ role: String?) -> Bool { role.map { AdminRole(rawValue: $0) == nil } ?? false }
        return admin.filter { isUnknown($0.role) }.map(\.id) + token.filter { isUnknown($0.role) }.map(\.kid)
            + keySets.filter { isUnknown($0.role) }.map(\.iss)
    }

    /// Throws unless every key is as docs/CONFIGURATION.md wants it; public keys are read by ``TokenKeys``.
    func check() throws(NodeError) {
        for key in token { try key.check() }
        for record in keySets { try record.check() }
        guard keySets.count <= KeySetRecord.countMax else {
            throw NodeError(.configuration, "there must be at most \(KeySetRecord.countMax) token records with jwksUrl")
        }
        var ids: Set<String> = []
        for key in admin where !ids.insert(key.id).inserted {
            throw NodeError(.configuration, "two admin keys have the id \(key.id)")
        }
        for key in admin where key.secret.utf8.count < JWSKey.secretBytesMin {
            throw NodeError(.configuration, "admin key \(key.id) needs a secret of at least 32 bytes")
        }
        for key in admin {
            if let prefix = key.roomPrefix, !Administrator.isRoomPrefix(prefix) {
                throw NodeError(.configuration, "the roomPrefix of admin key \(key.id) is none: no room ID begins so")
            }
            if key.role == AdminRole.moderate.rawValue, UserID(key.id) == nil {
                throw NodeError(
                    .configuration, "the id of admin key \(key.id) must be a user ID: MODERATE shows it as operator")
            }
        }
        for prefix in token.map(\.roomPrefix) + keySets.map(\.roomPrefix) {
            guard let prefix, !Administrator.isRoomPrefix(prefix) else { continue }
            throw NodeError(.configuration, "the roomPrefix \(prefix) of a token record is none: no room ID begins so")
        }
        for key in cluster ?? [] where key.secret.utf8.count < 32 {
            throw NodeError(.configuration, "a cluster key needs a secret of at least 32 bytes")
        }
    }
}
