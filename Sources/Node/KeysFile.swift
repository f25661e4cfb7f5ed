import ChatModel
import Crypto
import Foundation
import GossipSeal

/// The secrets of a node, from a file that only its owner can read. Never logged.
struct KeysFile: Sendable, Decodable {
    struct AdminKey: Sendable, Decodable {
        var id: String
        var secret: String
    }

    struct TokenKey: Sendable, Decodable {
        enum Algorithm: String, Sendable, Decodable {
            case HS256, ES256
        }

        enum Use: String, Sendable, Decodable {
            case client, admin
        }

        var kid: String
        var algorithm: Algorithm
        var use: Use
        /// HS256: the shared secret's UTF-8 bytes, at least 32 of them (RFC 7518 §3.2).
        var secret: String?
        /// ES256: the public key in PEM.
        var publicKey: String?
        /// If present, a token's `iss` must be it.
        var iss: String?
        /// If present, a token's `aud` must be or contain it.
        var aud: String?
    }

    /// Seals what nodes tell each other; the same file on all nodes.
    struct ClusterKey: Sendable, Decodable {
        /// At least 32 bytes.
        var secret: String
    }

    var admin: [AdminKey]
    var token: [TokenKey]
    /// The first one seals, all are accepted. Without any the node speaks to no other.
    var cluster: [ClusterKey]?

    /// The cluster keys as the gossip uses them; nil when there are none.
    func clusterRing() throws(NodeError) -> KeyRing? {
        guard let cluster, !cluster.isEmpty else { return nil }
        let secrets = cluster.map {
            Array(SHA256.hash(data: Array("chatroom cluster key".utf8) + Array($0.secret.utf8)))
        }
        guard let ring = KeyRing(secrets) else {
            throw NodeError(.configuration, "there must be at most \(KeyRing.keysMax) cluster keys, all different")
        }
        return ring
    }

    static func read(_ path: String) throws(NodeError) -> KeysFile {
        do {
            try TLSFiles.requirePrivate(path, "the keys file")
            let keys = try JSONDecoder().decode(KeysFile.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
            for key in keys.token where key.algorithm == .HS256 {
                guard let secret = key.secret, secret.utf8.count >= 32 else {
                    throw NodeError(.configuration, "token key \(key.kid) needs a secret of at least 32 bytes")
                }
            }
            for key in keys.token where key.algorithm == .ES256 && key.publicKey == nil {
                throw NodeError(.configuration, "token key \(key.kid) needs a publicKey")
            }
            for key in keys.admin where key.secret.utf8.count < 32 {
                throw NodeError(.configuration, "admin key \(key.id) needs a secret of at least 32 bytes")
            }
            for key in keys.cluster ?? [] where key.secret.utf8.count < 32 {
                throw NodeError(.configuration, "a cluster key needs a secret of at least 32 bytes")
            }
            return keys
        } catch let error as NodeError {
            throw error
        } catch {
            // The underlying error may quote the file's content, so it is not passed on.
            throw NodeError(.configuration, "the keys file \(path) can't be read or isn't valid JSON of keys")
        }
    }
}
