import ChatModel
import Wire

/// The items of one room in a batch.
struct WebhookSlice: Sendable {
    var items: [WebhookItem] = []
    /// How far the room is delivered, once the batch is.
    var progress: WebhookProgress
    /// There is more in the room.
    var more = false
    /// Openings and closings that were forgotten at their bound.
    var forgotten: Int64 = 0
}
