import FoundationEssentials

/// A line that `import` reads (PROTOCOL.md, "Import").
package enum ImportLine: Sendable, Hashable {
    case room(JSONTree)
    case member(JSONTree)
    case blacklisted(JSONTree)
    /// Somebody whom a kick keeps out for a time.
    case banned(JSONTree)
    /// A Message of history, alone on its line or as `{"message":…}`.
    case message(JSONTree)
    /// `{"end":true}`: nothing was left out before it.
    case end
    case empty

    /// Throws a sentence about what is wrong with the line.
    package init(_ bytes: [UInt8]) throws(CommandFailure) {
        guard bytes.contains(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\r") && $0 != UInt8(ascii: "\t") })
        else {
            self = .empty
            return
        }
        guard let tree = try? JSONTree(parsing: Data(bytes)), case .object(let members) = tree else {
            throw CommandFailure(.usage, "the line is no JSON object")
        }
        if let message = members["message"] {
            self = .message(try Self.object(message, "message"))
        } else if members["type"] != nil, members["time"] != nil {
            self = .message(tree)
        } else if let room = members["room"] {
            self = .room(try Self.object(room, "room"))
        } else if let member = members["member"] {
            self = .member(try Self.object(member, "member"))
        } else if let member = members["blacklisted"] {
            self = .blacklisted(try Self.object(member, "blacklisted"))
        } else if let member = members["banned"] {
            self = .banned(try Self.object(member, "banned"))
        } else if members["end"]?.boolean == true {
            self = .end
        } else {
            throw CommandFailure(.usage, "the line has none of room, member, blacklisted, banned, message and end")
        }
    }

    private static func object(_ tree: JSONTree, _ name: String) throws(CommandFailure) -> JSONTree {
        guard case .object = tree else { throw CommandFailure(.usage, "\(name) is no JSON object") }
        return tree
    }
}
