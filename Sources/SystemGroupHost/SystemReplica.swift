import Consensus
import EventLoop
import GroupDriver
import Replication
import ReplicationDriver
import Wire

/// The system group's state, as replicas give and take it: the bytes of its file.
final class SystemReplica: ReplicatedState {
    /// A state is a few megabytes; what is more is none.
    private static let bytesMax = 64 << 20

    private unowned let host: SystemHost
    private let log: GroupLog
    private let loop: EventLoop
    /// The received part of the state.
    private var received: [UInt8] = []

    init(host: SystemHost, log: GroupLog, loop: EventLoop) {
        self.host = host
        self.log = log
        self.loop = loop
    }

    func open(_ completion: @escaping (Result<any OpenState, ReplicationError>) -> Void) {
        let (state, index, loop) = (host.present, log.appliedIndex, loop)
        let done = LoopBound(onLoop: completion, loop: loop)
        // Encoding a large state takes too long for a loop.
        Task.detached {
            let bytes = SystemCodec.encode(state.snapshot(appliedIndex: index))
            loop.execute { done.value(.success(OpenBytes(bytes, index: index))) }
        }
    }

    func beginInstall(_ mark: SnapshotMark, _ done: @escaping Done) {
        received = []
        done(.success(()))
    }

    func install(_ bytes: [UInt8], _ done: @escaping Done) {
        guard received.count + bytes.count <= Self.bytesMax else {
            return done(.failure(ReplicationError(.malformed, "a system state of over \(Self.bytesMax) bytes")))
        }
        received += bytes
        done(.success(()))
    }

    func finishInstall(_ mark: SnapshotMark, _ done: @escaping Done) {
        let bytes = received
        received = []
        host.replace(with: bytes, as: mark, done)
    }

    func abandonInstall() { received = [] }
}

private final class OpenBytes: OpenState {
    let index: UInt64
    private let bytes: [UInt8]
    private var position = 0

    init(_ bytes: [UInt8], index: UInt64) {
        self.bytes = bytes
        self.index = index
    }

    func read(bytesMax: Int, _ completion: @escaping (Result<[UInt8], ReplicationError>) -> Void) {
        let end = min(bytes.count, position + bytesMax)
        let piece = Array(bytes[position..<end])
        position = end
        completion(.success(piece))
    }

    func close() {}
}
