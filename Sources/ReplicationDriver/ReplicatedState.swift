import Consensus
import History
import Replication

/// The state of a group's state machine, to be given to other replicas and to be replaced by theirs. It is called on
/// the group's loop, and completes there.
package protocol ReplicatedState: AnyObject {
    typealias Done = (Result<Void, ReplicationError>) -> Void

    /// Opens the present state for reading.
    func open(_ completion: @escaping (Result<any OpenState, ReplicationError>) -> Void)
    /// Begins to receive a state, beside the present one; one that was being received is given up.
    func beginInstall(_ mark: SnapshotMark, _ done: @escaping Done)
    /// The next bytes of it.
    func install(_ bytes: [UInt8], _ done: @escaping Done)
    /// Puts it in the place of the present one, durably; after a failure the present one stays.
    func finishInstall(_ mark: SnapshotMark, _ done: @escaping Done)
    /// Gives up what is being received.
    func abandonInstall()
}

/// A state that is being read.
package protocol OpenState: AnyObject {
    /// As of which entry it is.
    var index: UInt64 { get }
    /// Reads the next bytes: `bytesMax` of them, or fewer at the end. One call at a time.
    func read(bytesMax: Int, _ completion: @escaping (Result<[UInt8], ReplicationError>) -> Void)
    func close()
}

extension ReplicationError {
    /// The error of a source for a failure of its storage.
    init(source error: StorageError) {
        let code: Code =
            switch error.code {
            case .refused: .behind
            case .overloaded, .busy, .tooOften, .cancelled: .busy
            case .malformed: .malformed
            case .expired: .lost
            case .full, .io, .corrupt, .unsupported, .restartNeeded, .overflowed, .closed: .source
            }
        self.init(code, error.message)
    }

    /// The error of a receiver for a failure of its storage.
    init(receiver error: StorageError) {
        self.init(error.code == .malformed ? .malformed : .receiver, error.message)
    }
}
