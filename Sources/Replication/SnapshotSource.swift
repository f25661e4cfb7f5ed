import ChatModel
import Consensus

/// The giving side of a group's snapshots, as a value: one at a time, in chunks as the receiver asks for them.
///
/// Can transition: idle to opening to giving to idle.
public struct SnapshotSource: Sendable {
    /// An action for the host, in order.
    public enum Effect: Sendable, Hashable {
        /// To the node.
        case send(ReplicationMessage, to: NodeID)
        /// Open the state after `index` or later for reading, then call `opened` or `failed` once with the number.
        case open(number: UInt64, index: UInt64)
        /// Read the next bytes, as many unless the state ends before, then call `read` or `failed` once.
        case read(number: UInt64, bytesMax: Int)
        /// Close it, also when it is just being opened. No call for this number is heeded any more.
        case close(number: UInt64)
    }

    private struct Transfer: Sendable {
        var node: NodeID
        var transfer: UInt64
        var number: UInt64
        /// nil while it is being opened.
        var mark: SnapshotMark?
        /// Sent and not known to be stored, the first of them `first`.
        var kept = Fifo<[UInt8]>()
        var first: UInt32 = 0
        /// The receiver wants chunks before this one.
        var end: UInt32
        var isReading = false
        var hasEnded = false
        var checksum = TransferChecksum()
        var silentTicks = 0

        /// The next chunk to be read.
        var next: UInt32 { first + UInt32(clamping: kept.count) }
    }

    public let group: GroupID
    private let configuration: TransferConfiguration
    private var current: Transfer?
    private var lastNumber: UInt64 = 0

    public init(group: GroupID, configuration: TransferConfiguration) {
        self.group = group
        self.configuration = configuration
    }

    /// Whether a snapshot is being given.
    public var isBusy: Bool { current != nil }

    /// The server that it is sent to.
    public var receiver: NodeID? { current?.node }

    /// The snapshot's mark and receiver, once it is open.
    public var given: (node: NodeID, mark: SnapshotMark)? {
        current.flatMap { transfer in transfer.mark.map { (transfer.node, $0) } }
    }

    /// A message from a node; what is not for a source does nothing.
    public mutating func receive(_ message: ReplicationMessage, from node: NodeID) -> [Effect] {
        guard message.group == group else { return [] }
        switch message.body {
        case .askSnapshot(let index, let next, let end, let isRepeat):
            return ask(index, from: next, to: end, isRepeat: isRepeat, transfer: message.transfer, node)
        case .abort:
            return isCurrent(message.transfer, node) ? close() : []
        case .beginSnapshot, .snapshotChunk, .endSnapshot, .askDays, .days, .askHistory, .history, .complete:
            return []
        }
    }

    private func isCurrent(_ transfer: UInt64, _ node: NodeID) -> Bool {
        current?.node == node && current?.transfer == transfer
    }

    private mutating func ask(
        _ index: UInt64, from next: UInt32, to end: UInt32, isRepeat: Bool, transfer: UInt64, _ node: NodeID
    ) -> [Effect] {
        if isCurrent(transfer, node) { return proceed(next, end, isRepeat) }
        if let current, current.node != node {
            return [refuse(.busy, "a snapshot is being given to \(current.node)", transfer: transfer, node)]
        }
        guard next == 0 else {
            return [refuse(.lost, "the snapshot has been closed", transfer: transfer, node)]
        }
        // The receiver has begun anew.
        let closing = close()
        lastNumber += 1
        current = Transfer(node: node, transfer: transfer, number: lastNumber, end: end)
        return closing + [.open(number: lastNumber, index: index)]
    }

    private mutating func proceed(_ next: UInt32, _ end: UInt32, _ isRepeat: Bool) -> [Effect] {
        guard var transfer = current else { return [] }
        transfer.silentTicks = 0
        guard let mark = transfer.mark else {
            current = transfer
            return []
        }
        guard next <= transfer.next, next >= transfer.first || !isRepeat else {
            let refusal = refuse(.lost, "chunk \(next) can't be given", transfer: transfer.transfer, transfer.node)
            return close() + [refusal]
        }
        if next > transfer.first {
            transfer.kept.removeFirst(Int(clamping: next - transfer.first))
            transfer.first = next
        }
        transfer.end = max(transfer.end, end)
        current = transfer
        var effects: [Effect] = []
        if isRepeat {
            if next == 0 { effects.append(send(.beginSnapshot(mark), transfer)) }
            for (offset, bytes) in transfer.kept.enumerated() {
                let number = transfer.first + UInt32(clamping: offset)
                effects.append(send(.snapshotChunk(number: number, bytes), transfer))
            }
            if transfer.hasEnded { effects.append(sendEnd(transfer)) }
        }
        return effects + readMore()
    }

    /// The host has opened the state.
    public mutating func opened(number: UInt64, mark: SnapshotMark) -> [Effect] {
        guard var transfer = current, transfer.number == number, transfer.mark == nil else { return [] }
        transfer.mark = mark
        transfer.silentTicks = 0
        current = transfer
        return [send(.beginSnapshot(mark), transfer)] + readMore()
    }

    /// The host has read bytes; fewer than were asked for, or none, are the end.
    public mutating func read(number: UInt64, _ bytes: [UInt8]) -> [Effect] {
        guard var transfer = current, transfer.number == number, transfer.isReading else { return [] }
        transfer.isReading = false
        var effects: [Effect] = []
        if !bytes.isEmpty {
            effects.append(send(.snapshotChunk(number: transfer.next, bytes), transfer))
            transfer.checksum.add(bytes)
            transfer.kept.append(bytes)
        }
        if bytes.count < TransferConfiguration.chunkBytesMax {
            transfer.hasEnded = true
            effects.append(sendEnd(transfer))
        }
        current = transfer
        return effects + readMore()
    }

    /// The host could not open or read it.
    public mutating func failed(number: UInt64, _ error: ReplicationError) -> [Effect] {
        guard let transfer = current, transfer.number == number else { return [] }
        return [send(.abort(error), transfer)] + close()
    }

    private mutating func readMore() -> [Effect] {
        guard var transfer = current, transfer.mark != nil, !transfer.isReading, !transfer.hasEnded,
            // Also against a receiver that asks for more than is kept here.
            transfer.next < transfer.end, transfer.kept.count < Int(clamping: 2 * configuration.chunksUnderWayMax)
        else { return [] }
        transfer.isReading = true
        current = transfer
        return [.read(number: transfer.number, bytesMax: TransferConfiguration.chunkBytesMax)]
    }

    /// To be called every 100 ms.
    public mutating func tick() -> [Effect] {
        guard var transfer = current else { return [] }
        transfer.silentTicks += 1
        current = transfer
        return transfer.silentTicks >= configuration.ticksUntilGone ? close() : []
    }

    /// Ends what is being given: the receiver's log goes on from the snapshot, or this replica leads no more, or stops.
    /// Until then it stays open behind its end, because that keeps the log from being trimmed: a receiver that has
    /// installed it would else need another one. Without this call it ends when the receiver is silent.
    public mutating func close() -> [Effect] {
        guard let transfer = current else { return [] }
        current = nil
        return [.close(number: transfer.number)]
    }

    private func sendEnd(_ transfer: Transfer) -> Effect {
        send(.endSnapshot(chunks: transfer.next, checksum: transfer.checksum.value), transfer)
    }

    private func send(_ body: ReplicationMessage.Body, _ transfer: Transfer) -> Effect {
        .send(ReplicationMessage(group: group, transfer: transfer.transfer, body), to: transfer.node)
    }

    private func refuse(
        _ code: ReplicationError.Code, _ reason: String, transfer: UInt64, _ node: NodeID
    ) -> Effect {
        .send(
            ReplicationMessage(group: group, transfer: transfer, .abort(ReplicationError(code, reason))), to: node)
    }
}
