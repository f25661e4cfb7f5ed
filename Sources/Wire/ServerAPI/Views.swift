import ChatModel

/// {rooms, [next]}.
public struct RoomsView: WireMessage, Hashable {
    public var rooms: [RoomView]
    /// The cursor of the next page; absent on the last.
    public var next: String?

    public static var blank: RoomsView { RoomsView(rooms: []) }

    public init(rooms: [RoomView], next: String? = nil) {
        self.rooms = rooms
        self.next = next
    }

    /// The page as the server API shows it.
    public init(_ page: Page<RoomView, RoomID>) { self.init(rooms: page.items, next: page.next?.text) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "rooms", &rooms)
        try walker.optional(2, "next", &next)
    }
}

extension MembersResult {
    /// The page as the server API shows it.
    public init(_ page: Page<Member, String>) {
        self.init(members: page.items)
        next = page.next
    }
}

extension MessagesResult {
    /// The page as the server API shows it.
    public init(_ page: HistoryPage) {
        self.init(messages: page.messages)
        more = page.more
    }
}

/// {"error": {…}}.
public struct ErrorView: WireMessage, Hashable {
    public var error: ChatError

    public static var blank: ErrorView { ErrorView(error: .blank) }

    public init(error: ChatError) { self.error = error }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "error", &error)
    }
}
