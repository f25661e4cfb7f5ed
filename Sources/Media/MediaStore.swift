import ChatModel
import Cryptography
import Glibc
import Synchronization
import SystemCalls

/// How a step of storing content went. The raw value is the status of HTTP, and travels between nodes.
public enum MediaOutcome: Int, Sendable, Hashable {
    case stored = 200
    /// The piece does not follow the one before: the sending begins anew.
    case outOfOrder = 409
    case tooLarge = 413
    /// The bytes are not those that the digest says.
    case wrongBytes = 422
    case unavailable = 503
    /// The disk would be full.
    case full = 507
}

/// The store `local`: content as files below a directory, under names that a server has made. Bytes are written beside, checked,
/// synced, and then renamed into their place: what is in its place is whole.
///
/// Everything happens on threads of its own, in pieces. A sending has no open file between two pieces.
public final class MediaStore: Sendable {
    private struct Incoming {
        var size: Int64
        var received: Int64 = 0
        var hash = SHA256Stream()
        /// A piece is being written: its owner is the thread.
        var isBusy = false
        var touchedAt = ContinuousClock.now
    }

    /// Sendings that are not complete.
    private static let incomingMax = 4_096
    /// A sending of which nothing is heard for so long is given up.
    private static let idleMax = Duration.seconds(180)

    private let path: String
    private let reserveBytes: Int64
    private let threads: MediaThread
    private let incoming = Mutex<[String: Incoming]>([:])
    private let shared = Mutex<[MediaName: ContinuousClock.Instant]>([:])
    /// Content whose bytes were read once and are those of its digest.
    private let whole = Mutex<Set<MediaName>>([])
    private static let wholeMax = 100_000

    /// - Parameters:
    ///   - path: of the store's directory, which is made.
    ///   - reserveBytes: the free space that it leaves to everything else on the disk.
    /// - Throws: when the directory can't be made.
    public init(path: String, reserveBytes: Int64, threads: Int = 2) throws(MediaStoreError) {
        self.path = path
        self.reserveBytes = reserveBytes
        for folder in [path, path + "/incoming"] {
            let error = MediaFileSystem.makeDirectory(folder)
            guard error == 0 else { throw MediaStoreError(path: folder, number: error) }
        }
        // The directory's own name.
        let above = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        _ = MediaFileSystem.sync(above.isEmpty ? "/" : above)
        // Sendings of a run that was killed.
        for name in MediaFileSystem.names(in: path + "/incoming") {
            MediaFileSystem.remove(path + "/incoming/" + name)
        }
        self.threads = MediaThread(count: threads)
    }

    /// Waits for what is being written.
    public func close() { threads.stop() }

    // MARK: - Storing

    /// Takes the next piece of a sending. At offset 0 it begins anew.
    /// - Parameter transfer: hexadecimal digits, chosen at random by who sends.
    public func write(_ transfer: String, offset: Int64, size: Int64, _ bytes: [UInt8]) async -> MediaOutcome {
        guard Self.isTransfer(transfer), size > 0, offset >= 0, !bytes.isEmpty else { return .unavailable }
        guard size <= Self.sizeMax, offset <= size, Int64(bytes.count) <= size - offset else { return .tooLarge }
        return await threads.run { [self] in writeNow(transfer, offset, size: size, bytes: bytes) } ?? .unavailable
    }

    private func writeNow(_ transfer: String, _ offset: Int64, size: Int64, bytes: [UInt8]) -> MediaOutcome {
        if offset == 0 {
            sweep()
            guard hasPlace(for: size, besides: transfer) else { return .full }
        }
        let taken = incoming.withLock { all -> (SHA256Stream?, MediaOutcome) in
            if all[transfer]?.isBusy == true { return (nil, .unavailable) }
            if offset == 0 {
                guard all.count < Self.incomingMax else { return (nil, .unavailable) }
                all[transfer] = Incoming(size: size)
            }
            guard let one = all[transfer], one.received == offset, one.size == size else { return (nil, .outOfOrder) }
            all[transfer]?.isBusy = true
            return (one.hash, .stored)
        }
        guard let hash = taken.0 else { return taken.1 }
        let error = MediaFileSystem.write(bytes, to: incomingPath(transfer), at: offset)
        guard error == 0 else {
            dropOwned(transfer)
            return error == ENOSPC || error == EDQUOT ? .full : .unavailable
        }
        hash.add(bytes)
        incoming.withLock { all in
            all[transfer]?.isBusy = false
            all[transfer]?.received += Int64(bytes.count)
            all[transfer]?.touchedAt = .now
        }
        return .stored
    }

    /// All pieces have been written: they are checked, synced, and put in their place. A second time changes nothing.
    public func finish(_ transfer: String, as name: MediaName, size: Int64) async -> MediaOutcome {
        guard Self.isTransfer(transfer) else { return .unavailable }
        return await threads.run { [self] in finishNow(transfer, name, size) } ?? .unavailable
    }

    private func finishNow(_ transfer: String, _ name: MediaName, _ size: Int64) -> MediaOutcome {
        let one = incoming.withLock { all -> Incoming? in
            guard let one = all[transfer], !one.isBusy else { return nil }
            all[transfer]?.isBusy = true
            return one
        }
        guard let one else { return sizeNow(name) == size ? .stored : .outOfOrder }
        defer { dropOwned(transfer) }
        guard one.received == size, one.size == size else { return .outOfOrder }
        guard Hexadecimal.encode(one.hash.digest()) == name.digest else { return .wrongBytes }
        let (source, folder) = (incomingPath(transfer), "\(path)/\(name.folder)")
        let outer = folder.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        let file = "\(path)/\(name.path)"
        let wasThere = sizeNow(name) == size
        var isPlaced = false
        let outcome = Self.perform([
            { MediaFileSystem.sync(source) }, { MediaFileSystem.makeDirectory(outer) },
            { Self.place(in: folder) { MediaFileSystem.move(source, to: file) } },
            {
                isPlaced = true
                return MediaFileSystem.sync(folder)
            }, { MediaFileSystem.sync(outer) }, { [path] in MediaFileSystem.sync(path) },
        ])
        // A name that is not on the disk must not look like one that is.
        if outcome == .stored {
            noteWhole(name)
        } else if isPlaced, !wasThere {
            MediaFileSystem.remove(file)
        }
        return outcome
    }

    /// Makes the folder of a room and puts a file there. The folder may go between the two, with the last of what was there
    /// before.
    private static func place(in folder: String, _ put: () -> Int32) -> Int32 {
        var error = ENOENT
        for _ in 0..<3 where error == ENOENT {
            error = MediaFileSystem.makeDirectory(folder)
            if error == 0 { error = put() }
        }
        return error
    }

    /// The sending is given up.
    /// - Parameter isTaken: whether a later sending has taken the name. Then nothing is done. Asked on a thread of the store.
    public func discard(_ transfer: String, unless isTaken: @escaping @Sendable () -> Bool = { false }) async {
        guard Self.isTransfer(transfer) else { return }
        _ = await threads.run { [self] in drop(transfer, unless: isTaken) }
    }

    /// A sending that is being written to is left: it goes when nothing is heard of it.
    private func drop(_ transfer: String, unless isTaken: () -> Bool = { false }) {
        let isOurs = incoming.withLock { all in
            guard all[transfer]?.isBusy == false, !isTaken() else { return false }
            all[transfer]?.isBusy = true
            return true
        }
        if isOurs { dropOwned(transfer) }
    }

    /// The file goes first: one that began under the same name between the two would have its file removed, and go on in a
    /// file without a beginning.
    private func dropOwned(_ transfer: String) {
        MediaFileSystem.remove(incomingPath(transfer))
        incoming.withLock { $0[transfer] = nil }
    }

    private func sweep() {
        let now = ContinuousClock.now
        let idle = incoming.withLock { all in
            all.filter { !$0.value.isBusy && now - $0.value.touchedAt > Self.idleMax }.map(\.key)
        }
        for transfer in idle { drop(transfer) }
    }

    /// Whether the disk has place for the content beside all that is being sent.
    private func hasPlace(for size: Int64, besides transfer: String) -> Bool {
        guard let free = FileStatus.freeBytes(at: path) else { return true }
        let promised = incoming.withLock { all in
            all.reduce(Int64(0)) { $1.key == transfer ? $0 : $0 + $1.value.size - $1.value.received }
        }
        return free - promised - size >= reserveBytes
    }

    private func incomingPath(_ transfer: String) -> String { "\(path)/incoming/\(transfer)" }

    private static func isTransfer(_ text: String) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
    }

    /// Gives content to another room, too: its file has another name there and the same bytes. Until the room has said that it
    /// knows it, it is kept for a while (`isShared`).
    public func share(_ name: MediaName, with room: RoomID) async -> MediaOutcome {
        guard let other = MediaName(room: room, id: name.id, digest: name.digest) else { return .unavailable }
        let isNoted = shared.withLock { shared in
            let now = ContinuousClock.now
            if shared.count >= Self.sharedMax { shared = shared.filter { now - $0.value < Self.sharedTime } }
            guard shared.count < Self.sharedMax else { return false }
            shared[other] = now
            return true
        }
        guard isNoted else { return .unavailable }
        return await threads.run { [self] in shareNow(name, other) } ?? .unavailable
    }

    private func shareNow(_ name: MediaName, _ other: MediaName) -> MediaOutcome {
        let folder = "\(path)/\(other.folder)"
        let outer = folder.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
        return Self.perform([
            { MediaFileSystem.makeDirectory(outer) },
            { [path] in
                Self.place(in: folder) {
                    MediaFileSystem.copy("\(path)/\(name.path)", to: "\(path)/\(other.path)", byLink: true)
                }
            },
            { MediaFileSystem.sync(folder) }, { MediaFileSystem.sync(outer) }, { [path] in MediaFileSystem.sync(path) },
        ])
    }

    /// One step after the other, until one fails.
    private static func perform(_ steps: [() -> Int32]) -> MediaOutcome {
        for step in steps {
            let error = step()
            guard error == 0 else { return error == ENOSPC || error == EDQUOT ? .full : .unavailable }
        }
        return .stored
    }

    /// Whether a room has been given the content just now, and may not know it yet.
    public func isShared(_ name: MediaName) -> Bool {
        shared.withLock { shared in shared[name].map { .now - $0 < Self.sharedTime } ?? false }
    }

    /// Far beyond what may be announced; sums of it do not overflow.
    private static let sizeMax: Int64 = 1 << 40
    private static let sharedMax = 10_000
    private static let sharedTime = Duration.seconds(60)

    // MARK: - Reading

    /// At most `count` bytes from an offset on; nil when the content is not here.
    public func read(_ name: MediaName, offset: Int64, count: Int) async -> [UInt8]? {
        guard offset >= 0, count > 0 else { return nil }
        let file = "\(path)/\(name.path)"
        return await threads.run { MediaFileSystem.read(file, at: offset, count: count) } ?? nil
    }

    /// nil when the content is not here.
    public func size(of name: MediaName) async -> Int64? { await threads.run { [self] in sizeNow(name) } ?? nil }

    private func sizeNow(_ name: MediaName) -> Int64? { FileStatus(path: "\(path)/\(name.path)")?.sizeBytes }

    /// Whether the bytes are those of the digest. They are read once in a run, in pieces between which others are served.
    public func isWhole(_ name: MediaName) async -> Bool {
        if whole.withLock({ $0.contains(name) }) { return true }
        let (file, hash, count) = ("\(path)/\(name.path)", SHA256Stream(), 1 << 20)
        var offset: Int64 = 0
        while offset < Self.sizeMax {
            let start = offset
            guard !Task.isCancelled,
                let bytes = await threads.run({ MediaFileSystem.read(file, at: start, count: count) }) ?? nil
            else { return false }
            hash.add(bytes)
            offset += Int64(bytes.count)
            if bytes.count < count { break }
        }
        guard Hexadecimal.encode(hash.digest()) == name.digest else { return false }
        noteWhole(name)
        return true
    }

    private func noteWhole(_ name: MediaName) {
        whole.withLock { whole in
            if whole.count >= Self.wholeMax { whole = [] }
            whole.insert(name)
        }
    }

    // MARK: - Looking through it

    /// The folders of rooms, 256 at most, in which `rooms(in:)` finds some.
    public func folders() async -> [String] {
        let path = path
        return await threads.run { MediaFileSystem.names(in: path).filter { $0.utf8.count == 2 } } ?? []
    }

    /// The rooms of a folder that have content here.
    public func rooms(in folder: String) async -> [RoomID] {
        let path = "\(path)/\(folder)"
        return await threads.run { MediaFileSystem.names(in: path).compactMap { MediaName.room(ofFolder: $0) } } ?? []
    }

    /// The content of a room that is here.
    public func content(of room: RoomID) async -> [MediaName] {
        let folder = "\(path)/\(MediaName.folder(of: room))"
        return await threads.run {
            MediaFileSystem.names(in: folder).compactMap { MediaName(room: room, file: $0) }
        } ?? []
    }

    /// Removes content, and the room's folder with the last of it.
    public func remove(_ name: MediaName) async {
        let path = path
        whole.withLock { _ = $0.remove(name) }
        _ = await threads.run {
            MediaFileSystem.remove("\(path)/\(name.path)")
            MediaFileSystem.removeFolder("\(path)/\(name.folder)")
        }
    }
}

/// The store's directory can't be used.
public struct MediaStoreError: Error, Sendable, CustomStringConvertible {
    public var path: String
    public var number: Int32

    public var description: String { "\(path): \(String(cString: strerror(number)))" }
}
