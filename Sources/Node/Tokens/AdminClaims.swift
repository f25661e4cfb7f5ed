import ChatModel
import ServerAPI

/// The rights that a key's record or a token states (PROTOCOL.md, "Roles of keys"). Claims of client tokens mean nothing.
struct AdminClaims: Sendable, Hashable, Decodable {
    var role: String?
    var roomPrefix: String?

    /// These rights for somebody, within those of the record that vouches for them; nil: none (401).
    func administrator(_ name: String, within record: AdminClaims = AdminClaims()) -> Administrator? {
        let all = AdminRole.admin.rawValue
        let outer = record.role ?? all
        let role = role ?? outer
        guard outer == all || role == outer else { return nil }
        let prefix = roomPrefix ?? record.roomPrefix
        if let outer = record.roomPrefix, let prefix, !prefix.utf8.starts(with: outer.utf8) { return nil }
        return Administrator(name: name, role: role, roomPrefix: prefix)
    }
}
