import ChatModel
import Synchronization

/// The bytes of content that users have sent today, as the node that counts for them knows it: in memory, so a restart begins
/// anew.
final class UploadAllowances: Sendable {
    private struct State {
        var day: Int64 = 0
        var used: [UserID: Int64] = [:]
    }

    private let bytesPerDay: Int64
    private let state = Mutex(State())
    private static let usersMax = 1_000_000

    init(bytesPerDay: Int64) { self.bytesPerDay = bytesPerDay }

    func take(_ bytes: Int64, of user: UserID, at now: Timestamp) throws(ChatError) {
        let refusal = state.withLock { state -> ChatError? in
            if state.day != now.day { state = State(day: now.day) }
            let used = state.used[user] ?? 0
            guard bytes >= 0, bytes <= bytesPerDay - used else {
                let midnight = (now.day + 1) * Timestamp.millisecondsPerDay
                return ChatError(
                    .tooOften, "\(user) may send \(bytesPerDay) bytes of media a day",
                    retryAfterMs: max(0, midnight - now.milliseconds))
            }
            guard used > 0 || state.used.count < Self.usersMax else {
                return ChatError(.unavailable, "too many users send media", retryAfterMs: 60_000)
            }
            state.used[user] = used + bytes
            return nil
        }
        if let refusal { throw refusal }
    }
}
