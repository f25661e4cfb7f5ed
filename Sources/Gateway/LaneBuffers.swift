import Synchronization

/// The bytes that the buffers of one lane's connections hold. Belongs to the lane's loop: plain numbers, changed by
/// those who hold something. At the end of a turn the lane adds what has changed to the node's sum.
///
/// Counted are the bytes of a handshake or frame that is not complete, bytes that wait to be parsed, frames that wait to
/// be written, and bytes that TLS has sealed and the socket has not taken. A frame that a room shows to many is counted
/// once, for as long as somebody waits for it. Not counted are what each connection costs in any case (about 3 KB, with
/// TLS some 20 KB, both bounded by the number of connections) and the buffers of the system.
final class LaneBuffers {
    /// The bytes of single connections.
    var ownBytes = 0
    /// The bytes of frames that rooms show.
    var sharedBytes = 0
    private var reportedBytes = 0

    var bytes: Int { ownBytes + sharedBytes }

    func report(to node: NodeBuffers) {
        guard bytes != reportedBytes else { return }
        node.add(bytes - reportedBytes)
        reportedBytes = bytes
    }
}

/// The bytes that the buffers of all lanes hold, as of the ends of their last turns.
final class NodeBuffers: Sendable {
    private let sum = Atomic<Int>(0)

    var bytes: Int { sum.load(ordering: .relaxed) }

    func add(_ delta: Int) { sum.wrappingAdd(delta, ordering: .relaxed) }
}
