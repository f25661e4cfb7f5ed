import ChatModel

/// The content of a notification, as far as the ledger follows it.
package enum RoomEvent: Hashable, Sendable {
    /// 305, 306.
    case muted([UserID], Bool)
    /// 314.
    case temporarilyMuted([UserID], seconds: Int64)
    /// 315.
    case temporaryMuteLifted([UserID])
    /// 318, 319.
    case roomMuted(Bool)
    /// 303, 304.
    case blacklisted([UserID], Bool)
    /// 313.
    case kicked([UserID])
    /// 317; no element for DROP.
    case queueChanged(QueueChange, QueueElement?)
    /// 320.
    case queueBatchChanged(QueueChange, [QueueElement])
    /// 350.
    case digest(entered: Int64, exited: Int64, online: Int64)
    /// Any other, by its code.
    case other(Int)

    package init(_ notification: ChatModel.Notification) {
        let targets = notification.targets.map(\.user)
        switch (notification.event, notification.data) {
        case (.muted, _): self = .muted(targets, true)
        case (.unmuted, _): self = .muted(targets, false)
        case (.temporarilyMuted, .seconds(let seconds)): self = .temporarilyMuted(targets, seconds: seconds)
        case (.temporaryMuteLifted, _): self = .temporaryMuteLifted(targets)
        case (.roomMuted, _): self = .roomMuted(true)
        case (.roomUnmuted, _): self = .roomMuted(false)
        case (.blacklisted, _): self = .blacklisted(targets, true)
        case (.unblacklisted, _): self = .blacklisted(targets, false)
        case (.kicked, _): self = .kicked(targets)
        case (.queueChanged, .queue(let change, let element)): self = .queueChanged(change, element)
        case (.queueBatchChanged, .queueBatch(let change, let elements)):
            self = .queueBatchChanged(change, elements)
        case (.digest, .digest(let entered, let exited, let online, _)):
            self = .digest(entered: entered, exited: exited, online: online)
        default: self = .other(notification.event.rawValue)
        }
    }

    /// Whether the replay of the room's stream needs it.
    var isReplayed: Bool {
        switch self {
        case .digest, .other: false
        default: true
        }
    }
}
