import ChatModel
import Wire

/// The calls as the audit knows them (PROTOCOL.md, "Audit").
public enum AuditedCall {
    private static let table = RouteTable(Routes.described)

    /// The names of all calls that are recorded.
    static let actions = Set(table.routes.filter(\.method.changes).map(\.name))

    private static let frequentActions = Set(table.routes.filter(\.isFrequent).map(\.name))

    /// Whether an app makes this call again and again all day.
    public static func isFrequent(_ action: String?) -> Bool { action.map(frequentActions.contains) ?? false }

    /// Which call a recorded one of an earlier version is, and about which room.
    /// - Parameter path: as recorded, maybe cut off.
    public static func subject(method: String, path: String) -> (action: String?, room: String?) {
        guard case .route(let route, let parameters)? = try? table.match(method: method, path: path[...]) else {
            return (nil, nil)
        }
        return (route.name, parameters["room"])
    }
}

extension AuditItem {
    /// Its place among the calls of all nodes; nil when its node is not known.
    public var place: AuditPlace? { node.map { AuditPlace(id: id, node: $0) } }
}
