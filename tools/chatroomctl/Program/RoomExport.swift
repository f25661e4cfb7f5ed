import ControlClient

/// A room as lines of JSON, in the order in which `import` reads them.
struct RoomExport {
    private let client: AdminClient
    private let room: String
    private let output: @Sendable (JSONTree) -> Void
    private var endlessBans = 0

    /// The lists of a room that no line carries.
    private static let lists: [(path: String, items: String, name: String)] = [
        ("queue", "elements", "queue elements"), ("tallies", "tallies", "tallies"), ("polls", "polls", "polls"),
        ("held", "messages", "held messages"), ("reports", "reports", "reports"),
    ]

    /// - Parameter output: takes a line.
    init(_ client: AdminClient, room: String, output: @escaping @Sendable (JSONTree) -> Void) {
        self.client = client
        self.room = room
        self.output = output
    }

    /// Shows the room itself, its fixed members, its blacklist and its bans, as far as their ends are known: a node of an
    /// older version does not tell them.
    /// - Returns: the room.
    mutating func showStanding() async throws(CommandFailure) -> JSONTree {
        let info = try await client.call("GET", ["rooms", room])
        show("room", info)
        for (kind, name) in [("FIXED", "member"), ("BLACKLISTED", "blacklisted"), ("BANNED", "banned")] {
            try await showMembers(kind, as: name)
        }
        return info
    }

    /// Shows the kept messages above `seq`, and the end.
    func showMessages(after seq: Int64) async throws(CommandFailure) {
        var cursor = TailCursor(afterSeq: seq)
        var more = true
        while more {
            let page = try await client.call("GET", ["rooms", room, "messages"], query: cursor.query)
            for message in cursor.take(page) { show("message", message) }
            more = cursor.hasMore
            guard more || page["more"]?.boolean != true else {
                throw CommandFailure(.refused, "a page of history brings nothing and is not the last")
            }
        }
        output(.object(["end": .boolean(true), "seq": .integer(cursor.afterSeq)]))
    }

    /// Counts what no line carries, by the first page of each list: `pins 2, reports at least 20`; nil when there is
    /// nothing. A list that can't be read is named too, because an export must not look like all that there is.
    func remainder(of info: JSONTree) async -> String? {
        var parts: [String] = []
        let pins = info["pinned"]?.items.count ?? 0
        if pins > 0 { parts.append("pins \(pins)") }
        if endlessBans > 0 { parts.append("bans without an end \(endlessBans)") }
        for list in Self.lists {
            do throws(CommandFailure) {
                let page = try await client.call("GET", ["rooms", room, list.path])
                // Every room has this tally.
                let unused: (JSONTree) -> Bool = { $0["key"]?.text == "like" && $0["total"]?.integer == 0 }
                let count = (page[list.items]?.items ?? []).count { !unused($0) }
                if count > 0 { parts.append("\(list.name) \(page["next"] == nil ? "" : "at least ")\(count)") }
            } catch {
                parts.append("\(list.name) unknown (\(error.message))")
            }
        }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private mutating func showMembers(_ kind: String, as name: String) async throws(CommandFailure) {
        var next: String?
        repeat {
            let page = try await client.call(
                "GET", ["rooms", room, "members"], query: [("kind", kind), ("after", next), ("limit", "100")])
            for member in page["members"]?.items ?? [] {
                if kind == "BANNED", member["banEndsAt"] == nil { endlessBans += 1 } else { show(name, member) }
            }
            next = page["next"]?.text
        } while next != nil
    }

    private func show(_ name: String, _ value: JSONTree) { output(.object([name: value])) }
}
