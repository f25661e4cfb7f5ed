import ChatModel
import Wire

/// One stay in a room, from the app's `enter` to its end.
struct RoomStay: Sendable {
    let room: RoomID
    var options: EnterOptions
    var state = ConnectionState.connecting
    var stream: RoomStream
    /// Whether an `enter` has succeeded during this stay.
    var hasEntered = false
    /// Whether the connection was replaced since the last entry: the room is entered for the app, and no push of it comes
    /// before it is entered on the new connection.
    var isMoving = false
    /// Whether an `enter` is on the connection.
    var isAsking = false
    /// The app's calls that wait for the next entry.
    var tickets: [UInt64] = []
    /// Refusals in a row that may pass.
    var refusals = 0
    /// How often in a row the server did not know of this stay when the client's own reads asked.
    var losses = 0
    /// When `enter` is tried again.
    var retryAt: ClientInstant?
    /// SLOW gaps and when to read them.
    var fetches: [(range: ClosedRange<UInt64>, at: ClientInstant)] = []

    init(room: RoomID, options: EnterOptions, settings: ClientSettings) {
        self.room = room
        self.options = options
        stream = RoomStream(heldMax: settings.heldPushesMax, gapReadsMax: settings.gapReadsMax)
    }

    /// Whether requests for the room may be sent, and pushes of it count.
    var takesRequests: Bool { state == .entered && !isMoving }

    /// The request for the next entry: anew, or with what was received before.
    func request() -> EnterRequest {
        var request = EnterRequest(
            room: room, nick: options.nick, avatar: options.avatar, ext: options.ext,
            notifyExt: hasEntered ? nil : options.notifyExt, withQueue: options.withQueue,
            history: Int64(options.history), withTallies: options.withTallies)
        if let point = stream.resumePoint {
            request.since = point.since
            request.epoch = point.epoch
        }
        return request
    }
}
