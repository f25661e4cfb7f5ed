import ChatModel
import ClientCore
import Wire

/// A room seen by one client: what it says, and everything that one can do in it.
///
/// It is a name and costs nothing; two of the same room are the same. Every call that changes something carries a fresh
/// `clientID`, so that the client can repeat it after a lost answer; the server performs it once (PROTOCOL.md,
/// "Retry").
public struct Chatroom: Sendable {
    /// The client whose session it is seen with.
    public let client: ChatroomClient
    /// Which room it is.
    public let id: RoomID

    /// How this client stands with the room; nil when it is not wanted in it.
    public var state: ConnectionState? { get async { await client.state(of: id) } }

    /// The room's events from now on, for one consumer. It ends with the stay. Call it before ``enter(_:)``, and
    /// nothing is missed.
    public func events() async -> RoomEvents { RoomEvents(feed: await client.subscribe(to: id, lasting: false)) }

    /// Calls `handler` with each event of the room, one after the other, over all stays, until
    /// ``ChatroomClient/removeListener(_:)``.
    /// - Parameter key: names the listener, over all rooms and the client's own.
    /// - Returns: false, and nothing is added, if there is a listener under this key.
    @discardableResult
    public func addListener(_ key: String, _ handler: @escaping @Sendable (RoomEvent) async -> Void) async -> Bool {
        await client.addListener(key, room: id, handler)
    }

    // MARK: - Entering

    /// Enters the room, and stays in it over lost connections until ``exit()``, a kick or a failure. Entering again
    /// changes what one shows.
    /// - Throws: the refusal: 404 no such room, 13002 closed, 13003 blacklisted, 403 not invited, 13008 too many rooms,
    ///   409 elsewhere already.
    @discardableResult
    public func enter(_ options: EnterOptions = EnterOptions()) async throws(ClientError) -> RoomEntry {
        guard case .entered(let entry) = try await client.ask({ .enter(ticket: $0, id, options) }) else {
            throw .mismatch
        }
        return entry
    }

    /// Leaves the room.
    public func exit() async throws(ClientError) { _ = try await client.ask { .exit(ticket: $0, id) } }

    // MARK: - Speaking

    /// Sends a message and waits until it is known what became of it. Its status is told as `delivery` too. While the
    /// connection is away it waits; an ack that got lost is made up for.
    /// - Parameter clientID: a fresh one if nil. Give that of a failed send to try the same message again.
    /// - Throws: the refusal; `outcomeUnknown` when there was no answer for 10 minutes; what a hook decided.
    @discardableResult
    public func send(_ draft: MessageDraft, clientID: String? = nil) async throws(ClientError) -> SendReceipt {
        let hooks = client.configuration.sendHooks
        let message = OutgoingMessage(room: id, clientID: clientID ?? Self.freshID(), draft: draft)
        switch await hooks.willSend(message) {
        case .stop(let reason): throw ClientError(.stoppedByHook, reason)
        case .keepLocal:
            await hooks.attached(message)
            throw ClientError(.keptLocal, "the message stays on this device")
        case .send(let message):
            await hooks.attached(message)
            return try await deliver(message, hooks)
        }
    }

    private func deliver(_ message: OutgoingMessage, _ hooks: any SendHooks) async throws(ClientError) -> SendReceipt {
        do throws(ClientError) {
            let request = SendRequest(room: message.room, clientID: message.clientID, draft: message.draft)
            guard case .send(let result) = try await client.perform(.send(request)) else { throw .mismatch }
            let receipt = SendReceipt(message.clientID, result)
            await hooks.didSend(message, .sent(receipt))
            return receipt
        } catch {
            let isUnknown = error.code == .outcomeUnknown || error.code == .cancelled
            await hooks.didSend(message, isUnknown ? .unknown : .failed(error))
            throw error
        }
    }

    /// Sends a TEXT.
    @discardableResult
    public func send(_ text: String) async throws(ClientError) -> SendReceipt { try await send(.text(text)) }

    /// Says something that nobody keeps, and waits until the server has it.
    public func barrage(
        _ text: String, priority: Priority = .normal, ext: String? = nil, style: String? = nil
    ) async throws(ClientError) {
        let request = BarrageRequest(room: id, text: text, priority: priority, ext: ext, style: style)
        guard case .barrage = try await client.perform(.barrage(request)) else { throw .mismatch }
    }

    /// The same without an answer: dropped when there is no connection, or when it does not take more now.
    public func throwBarrage(
        _ text: String, priority: Priority = .normal, ext: String? = nil, style: String? = nil
    ) async {
        let request = BarrageRequest(room: id, text: text, priority: priority, ext: ext, style: style)
        await client.take([.barrage(request)])
    }

    /// Counts as so many taps, 1 to 100, on a tally, and waits until they are on disk. Only where `features` has `tally`.
    /// - Parameter clientID: makes it an ordinary change, which is repeated until it is answered and counted once. Without
    ///   it nothing is repeated: it costs the server much less.
    /// - Returns: the total.
    @discardableResult
    public func tally(_ key: String = Tally.like, delta: Int64 = 1, clientID: String? = nil) async throws(ClientError)
        -> Int64
    {
        let request = TapRequest(room: id, key: key, delta: delta, clientID: clientID)
        guard case .tally(let result) = try await client.perform(.tally(request)) else { throw .mismatch }
        return result.total
    }

    /// The same without an answer: dropped when there is no connection, and beyond the rate; counted at most once.
    public func tap(_ key: String = Tally.like, delta: Int64 = 1) async {
        await client.take([.tap(TapRequest(room: id, key: key, delta: delta))])
    }

    /// Opens a poll, for managers: at most 5 are open in a room. Only where `features` has `poll`.
    @discardableResult
    public func openPoll(_ poll: String, _ draft: PollDraft) async throws(ClientError) -> Poll {
        let request = PollRequest(draft, poll: poll, in: id, clientID: Self.freshID())
        guard case .poll(let result) = try await client.perform(.poll(request)) else { throw .mismatch }
        return result.poll
    }

    /// Closes a poll before its time, for managers.
    @discardableResult
    public func closePoll(_ poll: String) async throws(ClientError) -> Poll {
        let request = PollRequest(closing: poll, in: id, clientID: Self.freshID())
        guard case .poll(let result) = try await client.perform(.poll(request)) else { throw .mismatch }
        return result.poll
    }

    /// Votes: once, or again where the poll lets votes be changed.
    /// - Parameter option: its place among the poll's options, from 0.
    @discardableResult
    public func vote(_ poll: String, option: Int) async throws(ClientError) -> Poll {
        let request = VoteRequest(room: id, poll: poll, option: Int64(option), clientID: Self.freshID())
        guard case .vote(let result) = try await client.perform(.vote(request)) else { throw .mismatch }
        return result.poll
    }

    /// Takes a message back: one's own within 120 s (a setting of the server), as a manager any. With the `heldID` of a receipt
    /// it withdraws a message that waits for a manager.
    public func recall(_ messageID: String) async throws(ClientError) {
        let request = RecallRequest(room: id, messageID: messageID, clientID: Self.freshID())
        guard case .recall = try await client.perform(.recall(request)) else { throw .mismatch }
    }

    /// Pins a kept message, or takes its pin away; for managers. A room has at most 10 pinned messages: one more is refused
    /// with 409. Only where `features` has `pin`.
    /// - Returns: all that are pinned then, the latest last.
    @discardableResult
    public func pin(_ messageID: String, enable: Bool = true) async throws(ClientError) -> [PinnedMessage] {
        let request = PinRequest(room: id, messageID: messageID, enable: enable, clientID: Self.freshID())
        guard case .pin(let result) = try await client.perform(.pin(request)) else { throw .mismatch }
        return result.pinned
    }

    /// Changes one's own kept message, for a while (120 s) after it was sent: the text of TEXT and TIP, the content of CUSTOM,
    /// the ext of any. 403 afterwards and of others' messages, 409 when it has been recalled. Only where `features` has `amend`.
    /// - Returns: the message as it is then. Everybody is told 360.
    @discardableResult
    public func amend(_ messageID: String, _ set: MessageChanges) async throws(ClientError) -> Message {
        let request = AmendRequest(room: id, messageID: messageID, set: set, clientID: Self.freshID())
        guard case .amend(let result) = try await client.perform(.amend(request)) else { throw .mismatch }
        return result.message
    }

    /// Tells the room's moderators of a kept message: once for each message (409 then), one in 10 s (416). Only where `features`
    /// has `report`.
    /// - Parameter reason: at most 256 bytes.
    public func report(_ messageID: String, reason: String? = nil) async throws(ClientError) {
        let request = ReportRequest(room: id, messageID: messageID, reason: reason, clientID: Self.freshID())
        guard case .report = try await client.perform(.report(request)) else { throw .mismatch }
    }

    // MARK: - Reading

    /// One kept message, as it is now. 404 for what is none of this room. Only where `features` has `amend`.
    public func message(_ messageID: String) async throws(ClientError) -> Message {
        let request = MessageRequest(room: id, messageID: messageID)
        guard case .message(let result) = try await client.perform(.message(request)) else { throw .mismatch }
        return result.message
    }

    /// The messages that a COMBINE holds.
    public func combined(_ messageID: String) async throws(ClientError) -> [Message] {
        let request = CombinedRequest(room: id, messageID: messageID)
        guard case .combined(let result) = try await client.perform(.combined(request)) else { throw .mismatch }
        return result.messages
    }

    /// A page of what the room keeps, 10 days unless the server says otherwise. To read on: `beforeSeq` or `afterSeq` of the last message.
    public func history(_ query: HistoryRequest = HistoryRequest()) async throws(ClientError) -> HistoryPage {
        let request = RoomHistoryRequest(room: id, query: query)
        guard case .history(let result) = try await client.perform(.history(request)) else { throw .mismatch }
        return HistoryPage(messages: result.messages, more: result.more ?? false)
    }

    /// The room's facts, and the seq that it is at.
    public func info() async throws(ClientError) -> (room: RoomView, seq: UInt64) {
        let operation = ClientOperation.room(RoomNameRequest(room: id))
        guard case .room(let result) = try await client.perform(operation) else { throw .mismatch }
        return (result.room, result.seq ?? 0)
    }

    /// A page of one listing of members, 1 to 100 of them.
    /// - Parameter after: `next` of the page before.
    public func members(
        _ kind: MemberKind, after: String? = nil, limit: Int64 = Limits.pageItemsDefault
    ) async throws(ClientError) -> Page<Member, String> {
        let request = MembersRequest(room: id, kind: kind, after: after, limit: limit)
        guard case .members(let result) = try await client.perform(.members(request)) else { throw .mismatch }
        return Page(items: result.members, next: result.next)
    }

    /// Up to 20 members by their IDs.
    public func members(_ users: [UserID]) async throws(ClientError) -> [Member] {
        let request = MembersByIDRequest(room: id, users: users)
        guard case .membersById(let result) = try await client.perform(.membersById(request)) else { throw .mismatch }
        return result.members
    }

    /// 128 random bits as text.
    static func freshID() -> String {
        var generator = SystemRandomNumberGenerator()
        let halves = (generator.next() as UInt64, generator.next() as UInt64)
        return String(halves.0, radix: 36) + String(halves.1, radix: 36)
    }
}

extension MessageDraft {
    /// A TEXT of at most 32 KB.
    public static func text(_ text: String) -> MessageDraft { MessageDraft(body: .text(text)) }

    /// A COMMAND of at most 5 KB: a signal between apps, never shown and never kept.
    public static func command(_ payload: [UInt8]) -> MessageDraft { MessageDraft(body: .command(payload: payload)) }

    /// A CUSTOM of at most 32 KB.
    /// - Parameter subtype: 0 to 200.
    public static func custom(_ content: String, subtype: Int64 = 0, searchable: String? = nil) -> MessageDraft {
        MessageDraft(body: .custom(content: content, subtype: subtype, searchable: searchable))
    }
}
