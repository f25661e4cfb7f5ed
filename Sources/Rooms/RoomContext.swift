import ChatModel
import EventLoop
import Logging
import Telemetry

/// What every room of a loop is given by its host.
struct RoomContext: Sendable {
    var loop: EventLoop
    var node: NodeID
    var policy: RoomPolicy
    var logger: Logger
    var figures: RoomFigures
    var now: @Sendable () -> Timestamp
    /// Copies of messages of other rooms, on any loop; the completion runs anywhere.
    var copies:
        @Sendable (
            _ messageIDs: [String], _ user: UserID?, _ rooms: [RoomID],
            _ completion: @escaping @Sendable (Result<[Message], ChatError>) -> Void
        ) -> Void
}

/// The figures of rooms.
struct RoomFigures: Sendable {
    let acked: Counter
    let refused: Counter
    let messagesLeftOut: Counter
    let barrageShown: Counter
    let barrageSkipped: Counter
    let activeRooms: Counter

    init(metrics: MetricsRegistry) {
        activeRooms = metrics.gauge("chatroom_rooms_active", "Rooms in memory.")
        acked = metrics.counter("chatroom_sends_total", "Messages by result.", labels: [("result", "acked")])
        refused = metrics.counter("chatroom_sends_total", "Messages by result.", labels: [("result", "refused")])
        barrageShown = metrics.counter("chatroom_barrage_total", "Barrage items.", labels: [("result", "shown")])
        let help = "What viewers were not given, by class and cause."
        barrageSkipped = metrics.counter(
            "chatroom_dropped_total", help, labels: [("class", "barrage"), ("cause", "budget")])
        messagesLeftOut = metrics.counter(
            "chatroom_dropped_total", help, labels: [("class", "message"), ("cause", "budget")])
    }
}
