import ChatModel
import Synchronization

/// Keeps `UploadUses` in a file, so that a node that is started again goes on where it was. Each line says a sum once more, so
/// it does not matter in which order they stand, and one that was broken off is passed over. Written on a thread of its own and
/// not synced: a power cut may take what came last.
public final class UploadUseFile: Sendable {
    private struct State {
        /// Lines that wait for the thread.
        var pending = ""
        /// Lines that wait, and those in the file.
        var pendingLines = 0
        var lines = 0
        var size: Int64 = 0
        /// The day of which something was noted last.
        var day = Int64.min
        /// The file is to be written anew, with all that is known.
        var isAnew = true
        /// The thread has been called, and has not taken what waits.
        var isCalled = false
        /// Something waits, here or in `uses`.
        var isDirty = false
    }

    private let path: String
    private let uses: @Sendable () -> UploadUses
    private let threads = MediaThread(count: 1)
    private let state = Mutex(State())

    private static let heading = "chatroom uploads 1"
    private static let spareLines = 1_000
    private static let lineBytesMax = 4_096
    private static let pendingBytesMax = 1 << 20
    private static let bytesMax: Int64 = 1 << 30

    /// - Parameter uses: all that is known now.
    public init(path: String, uses: @escaping @Sendable () -> UploadUses) {
        self.path = path
        self.uses = uses
    }

    /// Writes what waits. Blocks.
    public func close() {
        threads.stop()
        write()
    }

    // MARK: - Reading

    /// Adds all that the file says of that day. Blocks; for the start.
    public func read(into uses: inout UploadUses) {
        var rest: [UInt8] = []
        var (offset, isHeaded) = (Int64(0), false)
        // Bounded by what may be written.
        while offset < Self.bytesMax, let bytes = MediaFileSystem.read(path, at: offset, count: 1 << 20), !bytes.isEmpty
        {
            offset += Int64(bytes.count)
            rest += bytes
            var begin = 0
            while let end = rest[begin...].firstIndex(of: UInt8(ascii: "\n")) {
                let line = String(decoding: rest[begin..<end], as: UTF8.self)
                begin = end + 1
                if isHeaded {
                    Self.take(line, into: &uses)
                } else if line == Self.heading + " \(uses.day)" {
                    isHeaded = true
                } else {
                    return
                }
            }
            rest.removeFirst(begin)
            // No line is so long.
            guard rest.count <= Self.lineBytesMax else { return }
        }
    }

    private static func take(_ line: String, into uses: inout UploadUses) {
        let parts = line.split(separator: " ", omittingEmptySubsequences: false)
        guard parts.count == 3, let bytes = Int64(parts[0]), bytes > 0, let node = NodeID(String(parts[1])),
            let user = UserID(String(parts[2]))
        else { return }
        uses.merge([node: bytes], of: user, on: uses.day)
    }

    // MARK: - Writing

    /// The sums of a user on a day have changed. The file of another day is written anew.
    public func note(_ counts: [NodeID: Int64], of user: UserID, on day: Int64) {
        let lines = Self.lines(counts, of: user)
        let isToBeCalled = state.withLock { state in
            state.isDirty = true
            state.pending += lines
            state.pendingLines += counts.count
            // A disk that hangs: what is left out here is written with everything else.
            if day != state.day || state.pending.utf8.count > Self.pendingBytesMax {
                (state.pending, state.isAnew) = ("", true)
            }
            state.day = day
            defer { state.isCalled = true }
            return !state.isCalled
        }
        guard isToBeCalled else { return }
        Task { [self] in
            if await threads.run({ [self] in write() }) == nil { state.withLock { $0.isCalled = false } }
        }
    }

    /// On the thread, or when it has ended.
    private func write() {
        // No copy is held while something is added: that would copy all users.
        let count = uses().count
        let found = state.withLock { state -> (text: String, offset: Int64, isAnew: Bool)? in
            guard state.isDirty else { return nil }
            state.lines += state.pendingLines
            defer {
                (state.pending, state.pendingLines, state.isCalled, state.isDirty) = ("", 0, false, false)
                state.isAnew = false
            }
            return (state.pending, state.size, state.isAnew || state.lines > 2 * count + Self.spareLines)
        }
        guard let (text, offset, isAnew) = found else { return }
        if isAnew {
            rewrite(uses())
        } else {
            let bytes = Array(text.utf8)
            let isWritten = MediaFileSystem.write(bytes, to: path, at: offset) == 0
            state.withLock { state in
                state.size += Int64(bytes.count)
                // The next line tries it again, with all.
                if !isWritten || state.size > Self.bytesMax { state.isAnew = true }
            }
        }
    }

    /// Writes all beside, and puts it in the place of what was there.
    private func rewrite(_ uses: UploadUses) {
        let beside = path + ".new"
        var (lines, size, isWritten) = (0, Int64(0), true)
        var text = Self.heading + " \(uses.day)\n"
        func put() {
            guard isWritten else { return }
            let bytes = Array(text.utf8)
            isWritten = MediaFileSystem.write(bytes, to: beside, at: size) == 0
            size += Int64(bytes.count)
            text = ""
        }
        for (user, counts) in uses.all {
            lines += counts.count
            text += Self.lines(counts, of: user)
            if text.utf8.count > Self.pendingBytesMax { put() }
        }
        put()
        isWritten = isWritten && MediaFileSystem.sync(beside) == 0 && MediaFileSystem.move(beside, to: path) == 0
        let written = (lines, size, isWritten)
        state.withLock { state in
            if written.2 { (state.lines, state.size) = (written.0, written.1) } else { state.isAnew = true }
        }
    }

    private static func lines(_ counts: [NodeID: Int64], of user: UserID) -> String {
        counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key) \(user)\n" }.joined()
    }
}
