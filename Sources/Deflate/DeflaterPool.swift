/// Deflaters for many streams that share windows. The streams that were written last have one each that goes on where it
/// is; any other takes the one that was used longest ago, which reads the window anew. For one thread at a time.
public final class DeflaterPool {
    /// The one that was used last is the last.
    private var deflaters: [Deflater] = []
    private let countMax: Int
    private let level: Int32

    /// - Parameters:
    ///   - countMax: the most deflaters; they are made when they are needed.
    ///   - level: see ``Deflater/init(level:)``.
    public init(countMax: Int, level: Int32) {
        self.countMax = max(1, countMax)
        self.level = level
    }

    /// See ``Deflater/deflate(_:after:isNeeded:)``.
    func deflate(_ message: UnsafeRawBufferPointer, after before: UnsafeRawBufferPointer) -> [UInt8]? {
        deflater(for: UnsafeRawBufferPointer(rebasing: before.suffix(Deflater.windowBytes)))?
            .deflate(message, after: before)
    }

    private func deflater(for before: UnsafeRawBufferPointer) -> Deflater? {
        if let index = deflaters.lastIndex(where: { $0.follows(before) }) {
            if index < deflaters.count - 1 { deflaters.append(deflaters.remove(at: index)) }
        } else if deflaters.count < countMax, let new = Deflater(level: level) {
            deflaters.append(new)
        } else if !deflaters.isEmpty {
            deflaters.append(deflaters.removeFirst())
        }
        return deflaters.last
    }
}
