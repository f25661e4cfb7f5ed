/// Finds out whether transactions in a write-ahead log that had been on the disk are damaged
/// (https://sqlite.org/fileformat2.html#walformat).
///
/// SQLite takes the first frame that does not fit for the end of the log, because after a power cut that is what it is:
/// the rest of a transaction that was being written, of which any part may be on the disk. But a writer that syncs at
/// every commit (`synchronous = FULL`) begins no transaction before the last one is on the disk. So at most one
/// transaction can be torn, and it is the last one: when a frame of the same log follows behind the end of the
/// transaction with the misfit, the misfit had been on the disk, and all from it on was promised.
///
/// The file alone cannot tell these, and this check leaves them to other evidence:
/// - damage in the last transaction, which looks like a torn write (until the next commit, whose frames then follow);
/// - a log that ends early, where nothing of the same log follows the cut.
///
/// Frames of an earlier log behind the end are normal: a log that was reset is overwritten from its beginning, with new
/// salts. A rolled-back transaction leaves frames with the present salts, so who checks a log like this must empty it
/// after a rollback (`checkpoint(.truncate)`) before the next commit.
public struct WriteAheadLogCheck {
    private static let headerBytes = 32
    private static let frameHeaderBytes = 24
    private static let smallestPageBytes = 512

    /// A description of the damage, as part of a sentence; nil while none shows.
    public private(set) var objection: String?
    /// Less than one frame.
    private var rest: [UInt8] = []
    private var header: Header?
    private var isHeaderRead = false
    /// The sum of all up to the last frame that fits.
    private var sum = Sum()
    private var frame = 0
    /// The first frame that does not fit.
    private var misfit: Int?
    /// The transaction with the misfit has ended.
    private var hasEndedBehindMisfit = false

    public init() {}

    /// The next bytes of the file, in pieces of any length. Keeps less than a frame (64 KiB) of them.
    public mutating func take(_ bytes: some Collection<UInt8>) {
        guard objection == nil else { return }
        rest += bytes
        var used = 0
        rest.withUnsafeBytes { all in
            while objection == nil {
                let length = nextLength
                guard all.count - used >= length else { return }
                take(piece: UnsafeRawBufferPointer(rebasing: all[used..<used + length]))
                used += length
            }
        }
        rest.removeFirst(used)
    }

    private var nextLength: Int {
        guard isHeaderRead else { return Self.headerBytes }
        return Self.frameHeaderBytes + (header?.pageBytes ?? Self.smallestPageBytes)
    }

    private mutating func take(piece: UnsafeRawBufferPointer) {
        guard isHeaderRead else {
            isHeaderRead = true
            header = Header(piece)
            if let header { sum = header.sum }
            return
        }
        guard let header else {
            // The header is synced before the first frame is written, so it cannot be torn where frames are.
            objection = "the header of its write-ahead log does not match its checksum"
            return
        }
        take(frame: piece, header)
        frame += 1
    }

    private mutating func take(frame bytes: UnsafeRawBufferPointer, _ header: Header) {
        let isOfThisLog = number(bytes, 8) == header.salts.0 && number(bytes, 12) == header.salts.1
        if misfit == nil {
            let page = UnsafeRawBufferPointer(rebasing: bytes[Self.frameHeaderBytes...])
            let words = (header.word(bytes, 0), header.word(bytes, 4))
            let found = Sum(a: number(bytes, 16), b: number(bytes, 20))
            var expected = sum
            expected.add(words)
            expected.add(page, header)
            if isOfThisLog, found == expected {
                sum = expected
                return
            }
            misfit = frame
            // Checksums are chained from the log's own salts. A frame that fits but for one field of its header was
            // written whole, and that field has changed since.
            var beforePage = found
            beforePage.remove(page, header)
            let needed = sum.words(to: beforePage)
            if found == expected || (isOfThisLog && (needed.0 == words.0) != (needed.1 == words.1)) {
                objection = "the header of frame \(frame) of its write-ahead log has changed"
                return
            }
        }
        guard isOfThisLog, let misfit else { return }
        if hasEndedBehindMisfit {
            objection = """
                frame \(misfit) of its write-ahead log does not match its checksum, and transactions that were saved \
                after it follow
                """
        }
        // The size of the database after the transaction, in its last frame only.
        if number(bytes, 4) != 0 { hasEndedBehindMisfit = true }
    }

    // MARK: - Format

    private struct Header {
        var pageBytes: Int
        var isBigEndian: Bool
        var salts: (UInt32, UInt32)
        var sum = Sum()

        /// Nil for what SQLite takes for no log.
        init?(_ bytes: UnsafeRawBufferPointer) {
            let magic = number(bytes, 0)
            guard magic & ~1 == 0x377F_0682, let pageBytes = Int(exactly: number(bytes, 8)),
                (smallestPageBytes...65_536).contains(pageBytes), pageBytes & (pageBytes - 1) == 0
            else { return nil }
            self.pageBytes = pageBytes
            isBigEndian = magic & 1 == 1
            salts = (number(bytes, 16), number(bytes, 20))
            sum.add(UnsafeRawBufferPointer(rebasing: bytes[..<24]), self)
            guard sum == Sum(a: number(bytes, 24), b: number(bytes, 28)) else { return nil }
        }

        /// A word as the checksums read it.
        func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
            let word = bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self)
            return isBigEndian ? UInt32(bigEndian: word) : UInt32(littleEndian: word)
        }
    }

    /// The running checksum over pairs of words.
    private struct Sum: Equatable {
        var a: UInt32 = 0
        var b: UInt32 = 0

        mutating func add(_ words: (UInt32, UInt32)) {
            a &+= words.0 &+ b
            b &+= words.1 &+ a
        }

        mutating func add(_ bytes: UnsafeRawBufferPointer, _ header: Header) {
            for offset in stride(from: 0, to: bytes.count, by: 8) {
                add((header.word(bytes, offset), header.word(bytes, offset + 4)))
            }
        }

        /// Undoes `add`: the checksum is linear.
        mutating func remove(_ bytes: UnsafeRawBufferPointer, _ header: Header) {
            for offset in stride(from: bytes.count - 8, through: 0, by: -8) {
                b &-= header.word(bytes, offset + 4) &+ a
                a &-= header.word(bytes, offset) &+ b
            }
        }

        /// The two words that lead from this sum to `next`.
        func words(to next: Sum) -> (UInt32, UInt32) { (next.a &- a &- b, next.b &- b &- next.a) }
    }

    private static func number(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 {
        UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }

    private func number(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt32 { Self.number(bytes, offset) }
}

extension WriteAheadLogCheck {
    /// Reads the write-ahead log at `path`, with bounded memory; nil when nothing shows, also when there is none. Nobody
    /// may write it meanwhile.
    public static func objection(to path: String) throws(SQLiteError) -> String? {
        var check = WriteAheadLogCheck()
        try FileSystem.readPieces(path) { piece in
            check.take(piece)
            return check.objection == nil
        }
        return check.objection
    }
}
