import ChatModel
import Wire

/// The items of one room in a batch.
package struct WebhookSlice: Sendable {
    package var items: [WebhookItem] = []
    /// How far the room is delivered, once the batch is.
    package var progress: WebhookProgress
    /// There is more in the room.
    package var more = false
    /// Openings, closings and reports that were forgotten at their bounds.
    package var forgotten: Int64 = 0

    package init(progress: WebhookProgress) { self.progress = progress }
}
