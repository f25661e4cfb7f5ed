import ChatModel
import ClientCore

/// A message on its way out.
public struct OutgoingMessage: Sendable, Hashable {
    public var room: RoomID
    /// Makes repeats harmless; the message's push carries it too.
    public let clientID: String
    public var draft: MessageDraft

    public init(room: RoomID, clientID: String, draft: MessageDraft) {
        self.room = room
        self.clientID = clientID
        self.draft = draft
    }
}

/// The decision of `willSend`.
public enum SendDecision: Sendable, Hashable {
    /// Send it, as it was or rewritten.
    case send(OutgoingMessage)
    /// Don't send it; `send` throws `stoppedByHook` with these words.
    case stop(String)
    /// Don't send it, but show it on this device: `attached` is called, and `send` throws `keptLocal`.
    case keepLocal
}

/// Called around each send, in this order. All have defaults that do nothing.
public protocol SendHooks: Sendable {
    /// Before anything else: may rewrite, stop or keep the message local.
    func willSend(_ message: OutgoingMessage) async -> SendDecision
    /// The message is as it will be, and not sent yet: an app shows it now.
    func attached(_ message: OutgoingMessage) async
    /// It is known what became of it: sent, failed or unknown.
    func didSend(_ message: OutgoingMessage, _ status: DeliveryStatus) async
}

extension SendHooks {
    public func willSend(_ message: OutgoingMessage) async -> SendDecision { .send(message) }
    public func attached(_ message: OutgoingMessage) async {}
    public func didSend(_ message: OutgoingMessage, _ status: DeliveryStatus) async {}
}

/// Sends everything as it is.
public struct NoSendHooks: SendHooks {
    public init() {}
}
