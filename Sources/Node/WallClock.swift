import ChatModel
import FoundationEssentials

/// The node's wall clock.
enum WallClock {
    static func now() -> Timestamp {
        // A Double holds microseconds of this century exactly enough.
        Timestamp(Int64((Date().timeIntervalSince1970 * 1000).rounded(.down)))
    }
}
