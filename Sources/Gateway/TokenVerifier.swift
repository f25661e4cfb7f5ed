import ChatModel
import SessionCore

/// Checks client tokens. `Node` implements it with the cluster's keys.
public protocol TokenVerifier: Sendable {
    /// Throws `ChatError` 401 for anything but a valid client token that has not been revoked; 503 while that can't be
    /// told. It may take seconds.
    /// - Parameter skewSeconds: how far the clock of whoever issued it may be off.
    func verify(_ token: String, skewSeconds: Int64) async throws(ChatError) -> TokenClaims

    /// Whether a token of the user has been revoked since; called on loops.
    /// - Parameter issuedAt: its `iat`; nil when it has none.
    func isRevoked(_ user: UserID, issuedAt: Timestamp?) -> Bool

    /// The ban or the mute of a user in all rooms that is in force; called on loops.
    func sanction(_ kind: SanctionKind, of user: UserID) -> UserSanction?
}

extension TokenVerifier {
    public func sanction(_ kind: SanctionKind, of user: UserID) -> UserSanction? { nil }
}
