import ChatModel
import Logging
import Media
import RoomProtocol
import Rooms
import Synchronization

/// Keeps this node's store as it has to be: content that no message names any more goes, and content that is on too few nodes
/// is copied. Looks through the store again and again, one piece at a time.
final class MediaKeeper: Sendable {
    private let host: MediaHost
    private let logger: Logger
    private let pause: Duration
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameter pause: between two rounds.
    init(_ host: MediaHost, pause: Duration = .seconds(20), logger: Logger) {
        self.host = host
        self.pause = pause
        self.logger = logger
    }

    func start() {
        let work = Task { [host, pause, logger] in
            var checked: Set<NodeID> = []
            var rounds = 0
            while !Task.isCancelled {
                do { try await Task.sleep(for: pause) } catch { return }
                let reached = Set(host.reachedNodes)
                // Content stays in its places while the nodes are the same ones. Once in a while it is looked at anyway.
                let repairs = reached != checked || rounds.isMultiple(of: 90)
                if await Self.look(host, repairs: repairs, logger) { checked = reached } else { checked = [] }
                rounds += 1
            }
        }
        task.withLock { $0 = work }
    }

    func stop() async {
        let work = task.withLock { $0 }
        work?.cancel()
        await work?.value
    }

    private static let idsAtOnce = 100

    /// - Returns: whether all that had to be checked was.
    private static func look(_ host: MediaHost, repairs: Bool, _ logger: Logger) async -> Bool {
        var isWhole = true
        for folder in await host.store.folders() {
            for room in await host.store.rooms(in: folder) {
                guard !Task.isCancelled else { return false }
                var rest = await host.store.content(of: room)[...]
                while !rest.isEmpty {
                    let names = rest.prefix(idsAtOnce)
                    rest = rest.dropFirst(idsAtOnce)
                    // A room that does not answer keeps what it has.
                    guard let kept = try? await host.calls.keptMedia(names.map(\.id), in: room) else {
                        isWhole = false
                        continue
                    }
                    for name in names {
                        guard let digest = kept[name.id], digest.isEmpty || digest == name.digest else {
                            if !host.store.isShared(name) { await host.store.remove(name) }
                            continue
                        }
                        // Without a digest it is just being sent.
                        if repairs, !digest.isEmpty, await !repair(name, host, logger) { isWhole = false }
                    }
                }
            }
        }
        return isWhole
    }

    /// - Returns: whether the content is where it has to be.
    private static func repair(_ name: MediaName, _ host: MediaHost, _ logger: Logger) async -> Bool {
        guard let places = host.places(of: name.id) else { return false }
        for place in places where place != host.node {
            switch await host.has(name, place) {
            case true?: continue
            case nil: return false
            case false?:
                guard await copy(name, to: place, host) else { return false }
                logger.info(
                    "content was copied", metadata: ["room": "\(name.room)", "media": "\(name.id)", "to": "\(place)"])
            }
        }
        // All places have it: a copy elsewhere is one too many.
        if !places.contains(host.node) { await host.store.remove(name) }
        return true
    }

    private static func copy(_ name: MediaName, to place: NodeID, _ host: MediaHost) async -> Bool {
        guard let size = await host.store.size(of: name) else { return false }
        let transfer = MediaHost.freshTransfer()
        var offset: Int64 = 0
        while offset < size {
            guard !Task.isCancelled,
                let bytes = await host.store.read(name, offset: offset, count: MediaPiece.bytesMax), !bytes.isEmpty
            else { return false }
            let piece = MediaPiece(transfer: transfer, offset: offset, size: size, bytes: bytes)
            guard await host.write(piece, to: place) == .stored else { return false }
            offset += Int64(bytes.count)
        }
        // Bytes that the disk has changed do not get any further.
        return await host.finish(transfer, as: name, size: size, at: place) == .stored
    }
}
