import ChatModel
import Logging
import Media
import RoomProtocol
import Rooms
import Synchronization

/// Keeps this node's files as they have to be: content that no message names any more goes, and content that is on too few nodes
/// is copied.
extension LocalMedia {
    /// The findings of the rounds before.
    struct Keeping: Sendable {
        /// The connections to the nodes with which all content was in its places.
        var checked: [NodeID: UInt64] = [:]
        var rounds = 0
    }

    func keep() async {
        let connections = nodes.connections
        // Content stays in its places while the nodes are the same ones, and have not started again: one that has may have come
        // back without its files. Once in a while it is looked at anyway.
        let repairs = keeping.withLock { keeping in
            defer { keeping.rounds += 1 }
            return connections != keeping.checked || keeping.rounds.isMultiple(of: 90)
        }
        let isWhole = await look(repairs: repairs)
        keeping.withLock { $0.checked = isWhole ? connections : [:] }
    }

    /// - Returns: whether all that had to be checked was.
    private func look(repairs: Bool) async -> Bool {
        var isWhole = true
        for folder in await store.folders() {
            for room in await store.rooms(in: folder) {
                guard !Task.isCancelled else { return false }
                var rest = await store.content(of: room)[...]
                while !rest.isEmpty {
                    let names = rest.prefix(Self.idsAtOnce)
                    rest = rest.dropFirst(Self.idsAtOnce)
                    // A room that does not answer keeps what it has.
                    guard let kept = try? await calls.keptMedia(names.map(\.id), in: room) else {
                        isWhole = false
                        continue
                    }
                    for name in names {
                        guard let digest = kept[name.id], digest.isEmpty || digest == name.digest else {
                            if !store.isShared(name) { await store.remove(name) }
                            continue
                        }
                        // Without a digest it is just being sent.
                        if repairs, !digest.isEmpty, await !repair(name) { isWhole = false }
                    }
                }
            }
        }
        return isWhole
    }

    /// - Returns: whether the content is where it has to be.
    private func repair(_ name: MediaName) async -> Bool {
        guard let places = nodes.places(of: name.id), let size = await store.size(of: name) else { return false }
        var copies = 0
        var isOneOfThem = false
        for place in places where copies < nodes.copies {
            if place == node {
                isOneOfThem = true
                copies += 1
                continue
            }
            switch await has(name, size: size, isThorough: true, place) {
            case true?: copies += 1
            case nil: return false
            case false?:
                switch await copy(name, size: size, from: node, as: name, to: place) {
                // The next one in the order has it instead.
                case .full: continue
                case .stored: copies += 1
                default: return false
                }
                logger.info(
                    "content was copied", metadata: ["room": "\(name.room)", "media": "\(name.id)", "to": "\(place)"])
            }
        }
        guard copies == nodes.copies else { return false }
        // A copy elsewhere is one too many.
        if !isOneOfThem { await store.remove(name) }
        return true
    }
}
