import Dispatch
import EventLoop

/// Waits for the end of `loop` on a thread that may block.
func joinOnThread(_ loop: EventLoop, then completion: @escaping @Sendable () -> Void) {
    DispatchQueue(label: "join").async {
        loop.join()
        completion()
    }
}
