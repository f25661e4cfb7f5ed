import Consensus
import EventLoop
import History
import Replication

/// The part that applies a shard's entries. It must pause while the catalogue is replaced under it.
package protocol ShardApplier: AnyObject {
    /// Apply nothing from here on, hand everything to storage, and forget the rooms.
    func pauseApply()
    /// Go on: behind the mark's index, or, nil, where it was.
    func resumeApply(from mark: SnapshotMark?)
}

/// A shard's catalogue, as replicas give and take it.
package final class ShardReplica: ReplicatedState {
    private let storage: ShardStorage
    private let loop: EventLoop
    private unowned let applier: any ShardApplier

    package init(storage: ShardStorage, loop: EventLoop, applier: any ShardApplier) {
        self.storage = storage
        self.loop = loop
        self.applier = applier
    }

    package func open(_ completion: @escaping (Result<any OpenState, ReplicationError>) -> Void) {
        let loop = loop
        let done = LoopBound(onLoop: completion, loop: loop)
        storage.openSnapshot { result in
            loop.execute {
                done.value(
                    result.map { OpenCatalogue($0, loop: loop) }.mapError { ReplicationError(source: $0) })
            }
        }
    }

    package func beginInstall(_ mark: SnapshotMark, _ done: @escaping Done) {
        storage.beginInstall(index: mark.index, mark: mark.encoded, completion: onLoop(done))
    }

    package func install(_ bytes: [UInt8], _ done: @escaping Done) {
        storage.installSnapshot(bytes, completion: onLoop(done))
    }

    package func finishInstall(_ mark: SnapshotMark, _ done: @escaping Done) {
        applier.pauseApply()
        storage.finishInstall(
            completion: onLoop { [unowned self] result in
                if case .success = result { applier.resumeApply(from: mark) } else { applier.resumeApply(from: nil) }
                done(result)
            })
    }

    package func abandonInstall() { storage.abandonInstall() }

    private func onLoop(_ done: @escaping Done) -> @Sendable (Result<Void, StorageError>) -> Void {
        let loop = loop
        let box = LoopBound(onLoop: done, loop: loop)
        return { result in loop.execute { box.value(result.mapError { ReplicationError(receiver: $0) }) } }
    }
}

private final class OpenCatalogue: OpenState {
    private let reader: SnapshotReader
    private let loop: EventLoop

    init(_ reader: SnapshotReader, loop: EventLoop) {
        self.reader = reader
        self.loop = loop
    }

    var index: UInt64 { reader.index }

    func read(bytesMax: Int, _ completion: @escaping (Result<[UInt8], ReplicationError>) -> Void) {
        let loop = loop
        let done = LoopBound(onLoop: completion, loop: loop)
        reader.next(bytesMax: bytesMax) { result in
            loop.execute { done.value(result.mapError { ReplicationError(source: $0) }) }
        }
    }

    func close() { reader.close() }
}
