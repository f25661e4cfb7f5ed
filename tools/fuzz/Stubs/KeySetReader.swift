import ChatModel
import Cryptography

/// Stands in for the node's own, which calls issuers: targets have the keys of their keys file only.
final class KeySetReader: Sendable {
    func use(_ records: [KeySetRecord]) async {}

    func keys(_ kid: String, algorithm: String, use: TokenTerms.Use) async throws(ChatError) -> [TokenKeys.Key] { [] }
}
