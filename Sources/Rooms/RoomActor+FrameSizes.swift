import ChatModel
import RoomCore
import RoomProtocol
import Wire

/// No answer is longer than a frame to a client may be: pages end where the next element has no room, and say where
/// they go on.
extension RoomActor {
    /// The bytes of an answer besides its list.
    private static let headBytes = Limits.kilobyte

    func membersInFrame(_ request: MembersRequest, at now: Timestamp, for viewer: UserID) throws(ChatError)
        -> MembersResult
    {
        var page = try members(request.kind, after: request.after, limit: Int(request.limit), at: now, for: viewer)
        let count = FrameSize.fitting(page.items, within: Limits.framePayloadBytes - Self.headBytes, FrameSize.of)
        if count < page.items.count {
            page = try members(request.kind, after: request.after, limit: count, at: now, for: viewer)
        }
        var result = MembersResult(members: page.items)
        result.next = page.next
        return result
    }

    /// All or none of them: there is no page to go on with. Twenty members are too long only where most of their
    /// profiles has to be escaped.
    func membersInFrame(_ request: MembersByIDRequest, at now: Timestamp, for viewer: UserID) throws(ChatError)
        -> MembersResult
    {
        let found = request.users.compactMap { member($0, at: now, for: viewer) }
        let count = FrameSize.fitting(found, within: Limits.framePayloadBytes - Self.headBytes, FrameSize.of)
        guard count == found.count else {
            throw ChatError(.tooLarge, "these members fill more than a frame, ask for fewer at once", field: "users")
        }
        return MembersResult(members: found)
    }

    func queueInFrame(_ request: QueueRequest) throws(ChatError) -> QueueResult {
        let result = try queuePage(request)
        let count = FrameSize.fitting(
            result.elements, within: Limits.framePayloadBytes - Self.headBytes, FrameSize.shown)
        guard count < result.elements.count else { return result }
        var shorter = request
        shorter.limit = Int64(count)
        return try queuePage(shorter)
    }

    /// A message for some has their names besides all that another may have: it alone could be longer than a frame, which
    /// clients need not take. Only texts can make it so that are long and are mostly characters that JSON has to escape.
    func refusal(ofLengthOf draft: MessageDraft, by actor: Actor) -> ChatError? {
        guard case .member(let user, let profile, _) = actor,
            draft.body.textBytes + (draft.ext?.utf8.count ?? 0) > Limits.framePayloadBytes / 8
        else { return nil }
        let longest = String(repeating: "9", count: Limits.opaqueIDBytes)
        let message = Message(
            MessageFields(
                room: id, place: .unkept(after: .max), messageID: longest, clientID: longest, time: Timestamp(.max),
                from: Sender(user: user, profile: profile, role: .normal), body: draft.body, priority: draft.priority,
                draft: draft, replyTo: nil))
        // With what a reply quotes.
        let bytes = WireJSON.encode(message).count + Self.headBytes + (draft.replyTo == nil ? 0 : FrameSize.memberMax)
        guard bytes > Limits.framePayloadBytes else { return nil }
        return ChatError(.tooLarge, "the message fills more than a frame: send it to fewer at once", field: "to")
    }

    // MARK: - enter

    /// The bytes that `missed` and `queue` of an answer to `enter` may have together.
    private func enterBytes(_ info: RoomInfo) -> Int {
        Limits.framePayloadBytes - Self.headBytes - FrameSize.of(info) - FrameSize.memberMax
    }

    /// The bytes of these that `missed` may have.
    func missedBytes(_ info: RoomInfo) -> Int { enterBytes(info) / 2 }

    /// The bytes that the newest message alone may have, where it leaves no room for others: all but those of the first
    /// element of the queue and of the tallies.
    func newestBytes(_ info: RoomInfo) -> Int { max(missedBytes(info), enterBytes(info) - Self.queueBytesLeft) }

    private static let queueBytesLeft = 64 << 10

    /// Puts the queue in, or what there is room for of it.
    /// - Parameter missed: the bytes of the messages that stand in the answer.
    func fillQueue(_ result: inout EnterResult, beside missed: Int, _ info: RoomInfo) {
        let elements = queueElements()
        result.queue = elements
        let talliesBytes = FrameSize.ofTallies(result.tallies?.count ?? 0)
        let count = FrameSize.fitting(elements, within: enterBytes(info) - missed - talliesBytes, FrameSize.shown)
        guard count < elements.count, let page = try? state.queuePage(after: nil, limit: count) else { return }
        result.queue = Array(elements[..<count])
        result.queueNext = page.next
    }
}
