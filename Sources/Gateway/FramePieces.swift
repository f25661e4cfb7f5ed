import Transport

/// The bytes that are written to viewers at a time: one frame as it is, or several small ones joined once for all of
/// them.
///
/// Invariant behind the pointers: `frames` and `joined` keep what they point to, for as long as this value is there.
struct FramePieces {
    struct Piece {
        let bytes: UnsafeRawBufferPointer
        /// The first frame that is not in it.
        let end: Int
    }

    private var frames: ContiguousArray<LaneFrame> = []
    /// By the frame that they begin with, once somebody needs them.
    private var pieces: ContiguousArray<Piece?> = []
    private var joined: [SharedBytes] = []

    /// A larger piece would be copied for little gain.
    static let bytesMax = 64 * 1024

    init() {}

    init(of frames: ContiguousArray<LaneFrame>) {
        self.frames = frames
        pieces = ContiguousArray(repeating: nil, count: frames.count)
    }

    var isEmpty: Bool { frames.isEmpty }

    @inline(__always)
    mutating func piece(from index: Int) -> Piece { pieces[index] ?? make(from: index) }

    @inline(never)
    private mutating func make(from index: Int) -> Piece {
        var (end, count) = (index + 1, frames[index].byteCount)
        while end < frames.count, count + frames[end].byteCount <= Self.bytesMax {
            count += frames[end].byteCount
            end += 1
        }
        var bytes = frames[index].bytes
        if end > index + 1 {
            bytes = SharedBytes(count: count) { memory in
                var offset = 0
                for frame in frames[index..<end] {
                    frame.bytes.withUnsafeBytes {
                        UnsafeMutableRawBufferPointer(rebasing: memory[offset...]).copyMemory(from: $0)
                    }
                    offset += frame.byteCount
                }
            }
            joined.append(bytes)
        }
        let piece = Piece(bytes: bytes.withUnsafeBytes { $0 }, end: end)
        pieces[index] = piece
        return piece
    }
}
