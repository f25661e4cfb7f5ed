import ChatModel
import Gateway
import Rooms
import SessionCore
import SystemGroupHost

/// Answers gateways' questions about tokens: the keys say whether one is genuine, the system group whether it was
/// revoked.
struct TokenGate: TokenVerifier {
    let keys: TokenKeys
    let system: SystemGroup

    func verify(_ token: String, skewSeconds: Int64) async throws(ChatError) -> TokenClaims {
        let claims = try await keys.verify(token, skewSeconds: skewSeconds)
        guard !isRevoked(claims.user, issuedAt: claims.issuedAt) else {
            throw ChatError(.unauthorized, "the token has been revoked")
        }
        if let ban = sanction(.banned, of: claims.user) {
            throw ban.refusal(of: claims.user, .banned, at: WallClock.now())
        }
        return claims
    }

    func sanction(_ kind: SanctionKind, of user: UserID) -> UserSanction? { system.sanction(kind, of: user) }

    func isRevoked(_ user: UserID, issuedAt: Timestamp?) -> Bool { system.refuses(user, issuedAt: issuedAt) }
}
