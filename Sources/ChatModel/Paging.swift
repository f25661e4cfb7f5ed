/// One page of a listing; `next` is the cursor of the following page, absent on the last.
public struct Page<Item: Sendable, Cursor: Sendable>: Sendable {
    public var items: [Item]
    public var next: Cursor?

    public init(items: [Item], next: Cursor?) {
        self.items = items
        self.next = next
    }
}

extension Page: Equatable where Item: Equatable, Cursor: Equatable {}

/// `history`'s parameters (PROTOCOL.md, "History"); `startTime` 0 is from the newest or the oldest kept.
public struct HistoryRequest: Sendable, Hashable {
    public var startTime = Timestamp(0)
    public var limit = 50
    public var ascending = false
    /// Empty: all.
    public var types: [MessageType] = []
    public var beforeSeq: UInt64?
    public var afterSeq: UInt64?

    public init() {}
}

public struct HistoryPage: Sendable, Hashable {
    public var messages: [Message]
    public var more: Bool

    public init(messages: [Message], more: Bool) {
        self.messages = messages
        self.more = more
    }
}
