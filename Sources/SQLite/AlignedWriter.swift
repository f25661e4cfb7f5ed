import CShims
import Glibc

/// Writes the records of a log one behind the other, each of them durable when its call returns. It writes whole blocks, and past the
/// page cache where the file system can (`O_DIRECT`): a record of some hundred bytes costs the disk a block of 512 bytes then, and not a
/// page of 4 KiB, and no page has to be brought to the disk by a sync. It belongs to one thread at a time.
///
/// The block in which a record begins may hold the end of the one before. Those bytes are written again as they are: a power cut leaves
/// of each block the old or the new one, and so does it in SQLite's files ("powersafe overwrite"). Behind a record the block has zeros.
/// Other file systems, and a VFS of tests, get the same blocks by the VFS, with a sync.
public final class AlignedWriter {
    private var target: Target?
    private let space = UnsafeMutableRawBufferPointer.allocate(
        byteCount: AlignedWriter.pieceBytes, alignment: AlignedWriter.blockBytesMax)

    /// A longer record is written by several calls.
    static let pieceBytes = 256 << 10
    static let blockBytesMax = 4_096
    /// The block where the file system does not say its own.
    static let blockBytes = 512

    private struct Target {
        var file: PlainFile
        var direct: DirectFile?
        /// The end of the last record.
        var end: Int
        /// The bytes before it, from the beginning of its block on.
        var head: [UInt8]

        var blockBytes: Int { direct?.blockBytes ?? AlignedWriter.blockBytes }
    }

    public init() {}

    deinit { space.deallocate() }

    /// Writes a record, or again one that failed. It is on the disk when this returns, and so is the file's name.
    ///
    /// - Parameter offset: the end of the record before; nothing behind it is needed.
    /// - Throws: `.full`, `.io`, `.syncFailed`; any part of the record may be there then, and nothing before it has changed.
    public func write(_ record: [UInt8], to file: PlainFile, at offset: Int) throws(SQLiteError) {
        guard !record.isEmpty else { return }
        var target = try prepare(file, at: offset)
        // A failure leaves what was known before the record.
        self.target = target
        let start = offset - target.head.count
        let end = offset + record.count
        let isOnePiece = end - start <= Self.pieceBytes
        var isDurable = false
        for piece in stride(from: start, to: end, by: Self.pieceBytes) {
            let bytes = fill(from: piece, target, record, at: offset)
            isDurable = try put(bytes, at: piece, &target, durably: isOnePiece && file.isNamed)
        }
        if !isDurable { try file.sync() }
        // The last block is the end of the last piece.
        let rest = end % target.blockBytes
        let last = (end - start - 1) % Self.pieceBytes + 1
        target.head.removeAll(keepingCapacity: true)
        target.head.append(contentsOf: space[(last - rest)..<last])
        target.end = end
        self.target = target
    }

    /// Closes what it has opened; the files are their owner's.
    public func close() { target = nil }

    private func prepare(_ file: PlainFile, at offset: Int) throws(SQLiteError) -> Target {
        if let target, target.file === file, target.end == offset { return target }
        var new = Target(
            file: file, direct: target?.file === file ? target?.direct : DirectFile(file), end: offset, head: [])
        let rest = offset % new.blockBytes
        guard rest > 0 else { return new }
        guard let head = try file.readAll(rest, at: offset - rest) else {
            throw SQLiteError(code: .io, message: "\(file.path): ends before \(offset)")
        }
        new.head = head
        return new
    }

    /// The blocks of a piece: what is in front of the record, the record, and zeros.
    private func fill(
        from piece: Int, _ target: Target, _ record: [UInt8], at offset: Int
    ) -> UnsafeRawBufferPointer {
        let end = offset + record.count
        let count = min(Self.pieceBytes, end - piece)
        let head = piece < offset ? target.head.count : 0
        target.head.withUnsafeBytes { space.copyMemory(from: UnsafeRawBufferPointer(rebasing: $0[..<head])) }
        record.withUnsafeBytes { bytes in
            let first = piece + head - offset
            UnsafeMutableRawBufferPointer(rebasing: space[head...])
                .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[first..<(first + count - head)]))
        }
        let blocks = (count + target.blockBytes - 1) / target.blockBytes * target.blockBytes
        space[count..<blocks].initializeMemory(as: UInt8.self, repeating: 0)
        return UnsafeRawBufferPointer(rebasing: space[..<blocks])
    }

    /// - Returns: whether it is on the disk.
    private func put(
        _ bytes: UnsafeRawBufferPointer, at offset: Int, _ target: inout Target, durably: Bool
    ) throws(SQLiteError) -> Bool {
        if let direct = target.direct {
            if try direct.write(bytes, at: offset, durably: durably) { return durably }
            // It has said that it can and does not: this file goes by the VFS from here on.
            target.direct = nil
            self.target?.direct = nil
        }
        try target.file.write(bytes, at: offset)
        return false
    }
}

/// A file that is written past the page cache.
private final class DirectFile {
    private let path: String
    private let handle: Int32
    let blockBytes: Int

    /// Nil where it can't be.
    init?(_ file: PlainFile) {
        guard file.isSystems else { return nil }
        var block: UInt32 = 0
        let handle = chatroom_open_direct(file.path, &block)
        guard handle >= 0 else { return nil }
        path = file.path
        self.handle = handle
        blockBytes = Int(block)
        // Both are powers of two.
        guard blockBytes.nonzeroBitCount == 1, blockBytes <= AlignedWriter.blockBytesMax else { return nil }
    }

    deinit { Glibc.close(handle) }

    /// - Parameter bytes: at an address that is a multiple of `blockBytes`, as their number and `offset` are.
    /// - Returns: false: it can't be written so.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int, durably: Bool) throws(SQLiteError) -> Bool {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = chatroom_write_direct(
                handle, rest.baseAddress, rest.count, Int64(offset + done), durably ? 1 : 0)
            switch -Int32(truncatingIfNeeded: count) {
            case EINTR: continue
            case EINVAL, EOPNOTSUPP: return false
            case ENOSPC, EDQUOT:
                throw SQLiteError(code: .full, message: "\(path): can't be written: no space")
            case let error where count <= 0:
                throw SQLiteError(code: .io, message: "\(path): can't be written (error \(error))")
            default: done += Int(count)
            }
        }
        return true
    }
}
