import ChatModel
import Consensus

/// Work that waits for the writer thread. Guarded by the store's monitor.
struct LogQueue: Sendable {
    struct Save: Sendable {
        var save: GroupSave
        var bytes: Int
        var completion: @Sendable (Result<Void, LogStoreError>) -> Void
    }

    struct Read: Sendable {
        var group: GroupID
        /// The next entry to read.
        var next: UInt64
        var through: UInt64
        var bytesLeft: Int
        var entries: [Entry] = []
        var completion: @Sendable (Result<[Entry], LogStoreError>) -> Void
    }

    /// One turn's work.
    struct Turn: Sendable {
        var saves: [Save] = []
        var trims: [GroupID: UInt64] = [:]
        var requests: [@Sendable (LogWriter) -> Void] = []
        var isClosing = false
    }

    private var saves = Fifo<Save>()
    private(set) var savesBytes = 0
    var reads = Fifo<Read>()
    var trims: [GroupID: UInt64] = [:]
    var requests: [@Sendable (LogWriter) -> Void] = []
    /// The log is to be written to segments from now on.
    var isConversionDue = false
    var isClosing = false
    var isClosed = false
    /// Groups of which a save was not kept. Further ones could leave a hole, or stand on what the lost one was to replace:
    /// none is taken before somebody has asked what the disk holds.
    var failed: Set<GroupID> = []
    /// Set for good when the disk can no longer be trusted.
    var refusal: LogStoreError?
    var status = LogStoreStatus()
    /// Since when the writer is at work on a turn, whatever the disk is asked for in it.
    var busySince: ContinuousClock.Instant?

    /// Why the disk does not take everything; also one that only does not answer.
    func failure(hangLimit: Duration) -> LogStoreError? {
        if let failure = status.failure { return failure }
        guard let busySince else { return nil }
        let silence = .now - busySince
        guard silence >= hangLimit else { return nil }
        return LogStoreError(.io, "the disk has not answered for \(silence.components.seconds) s")
    }

    /// Somebody waits for something.
    var isUrgent: Bool {
        !saves.isEmpty || !requests.isEmpty || !reads.isEmpty || isClosing
    }

    mutating func append(_ save: Save) {
        saves.append(save)
        savesBytes += save.bytes
        status.waitingBytes = savesBytes
    }

    /// The next saves in order, at least one if any waits, and everything small that waits beside them.
    mutating func nextTurn(bytesMax: Int, withTrims: Bool) -> Turn {
        var turn = Turn()
        var bytes = 0
        while let next = saves.first, bytes == 0 || bytes + next.bytes <= bytesMax {
            bytes += next.bytes
            turn.saves.append(next)
            saves.removeFirst()
        }
        savesBytes -= bytes
        status.waitingBytes = savesBytes
        if withTrims { swap(&turn.trims, &trims) }
        swap(&turn.requests, &requests)
        turn.isClosing = isClosing && saves.isEmpty
        return turn
    }
}
