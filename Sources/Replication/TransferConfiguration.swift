/// Bounds of transfers between replicas. Times are in ticks of the host, of about 100 ms each.
public struct TransferConfiguration: Sendable {
    /// Bytes of a chunk: with its head it fits into a frame of the bulk lane (256 KiB).
    public static let chunkBytesMax = 200_000
    /// Bytes of all parts of one chunk of history. A row has at most about four megabytes: a COMBINE with 100 copies.
    public static let historyChunkBytesMax = 16 << 20

    /// Chunks of a snapshot that may be under way: together less than the bulk lane's window (1 MiB).
    public var chunksUnderWayMax: UInt32 = 4
    /// Days of history that are asked for at the same time.
    public var daysUnderWayMax = 3
    /// After so many ticks without an answer the question is repeated.
    public var ticksUntilRepeat = 20
    /// After so many repetitions without an answer the transfer fails.
    public var repetitionsMax = 15
    /// After so many ticks without a question the source takes the receiver for gone. More than all repetitions take.
    public var ticksUntilGone = 600

    public init() {}
}
