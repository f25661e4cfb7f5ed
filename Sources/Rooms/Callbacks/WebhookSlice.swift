import ChatModel
import Wire

/// What of one room goes into a batch.
struct WebhookSlice: Sendable {
    var items: [WebhookItem] = []
    /// How far the room is delivered, once the batch is.
    var progress: WebhookProgress
    /// There is more in the room.
    var more = false
    /// Openings and closings that were forgotten at their bound.
    var forgotten: Int64 = 0
}
