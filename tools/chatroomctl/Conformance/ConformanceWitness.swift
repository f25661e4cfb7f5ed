import ControlClient
import Synchronization

/// Notes what no answer and no push of a whole run may have, whatever the check that caused it (PROTOCOL.md, "Names and
/// limits").
final class ConformanceWitness: Sendable {
    private struct Notes {
        var seen = 0
        var nulls: [String] = []
        var longNames: [String] = []
    }

    private let notes = Mutex(Notes())

    /// More of a kind tell nothing new.
    private static let notesMax = 5
    private static let bytesMax = 64
    /// Members that hold what the protocol calls opaque: message IDs, epochs, session IDs, cursors.
    private static let opaque: Set<String> = ["messageId", "epoch", "session", "next", "cursor"]

    /// Notes a reply, a push or an answer of the server API.
    func see(_ item: JSONTree) {
        var found = Notes()
        Self.look(at: item, as: "", &found)
        notes.withLock { notes in
            notes.seen += 1
            if !found.nulls.isEmpty, notes.nulls.count < Self.notesMax {
                notes.nulls.append("\(found.nulls[0]) in \(String(item.line.prefix(300)))")
            }
            notes.longNames = Array((notes.longNames + found.longNames).prefix(Self.notesMax))
        }
    }

    /// How many items have been seen.
    var seen: Int { notes.withLock { $0.seen } }
    /// Where `null` stood.
    var nulls: [String] { notes.withLock { $0.nulls } }
    /// Opaque strings that are too long.
    var longNames: [String] { notes.withLock { $0.longNames } }

    private static func look(at tree: JSONTree, as name: String, _ notes: inout Notes) {
        switch tree {
        case .null: notes.nulls.append(name)
        case .text(let text):
            if opaque.contains(name), text.utf8.count > bytesMax { notes.longNames.append("\(name) \(text)") }
        case .array(let items): for item in items { look(at: item, as: name, &notes) }
        case .object(let members): for (name, value) in members { look(at: value, as: name, &notes) }
        case .integer, .number, .boolean: break
        }
    }
}
