import ChatModel
import RoomCore
import Wire

// As these travel. Numbers are on the wire: they are never changed or used again.

struct WiredPresence: WireMessage {
    var update: PresenceUpdate

    init(_ update: PresenceUpdate) { self.update = update }

    static var blank: WiredPresence {
        WiredPresence(PresenceUpdate(shard: ShardID(0), term: 0, node: .blank))
    }
    static var schemaName: String { "PresenceUpdate" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var number = UInt32(update.shard.number)
        var changes = update.changes.map { WiredPresenceChange($0, by: update.node) }
        try walker.shown(1, "shard", &number)
        try walker.shown(2, "term", &update.term)
        try walker.required(3, "node", &update.node)
        try walker.defaulted(4, "first", &update.isFirst, default: false)
        try walker.repeated(5, "changes", &changes, itemsMax: PresenceUpdate.changesMax)
        try walker.defaulted(6, "asks", &update.asksToBegin, default: false)
        guard W.isDecoding else { return }
        update.shard = try ShardID(wired: number)
        update.changes = []
        for change in changes { update.changes.append(try change.change(at: update.node)) }
    }
}

private struct WiredPresenceChange: WireMessage {
    var room: RoomID
    var here: WiredVisitor?
    var gone: SessionID?
    var isEmptied = false

    static var blank: WiredPresenceChange { WiredPresenceChange(room: .blank) }
    static var schemaName: String { "PresenceChange" }

    private init(room: RoomID) { self.room = room }

    init(_ change: PresenceUpdate.Change, by leader: NodeID) {
        room = change.room
        switch change.change {
        case .here(let visitor): here = WiredVisitor(visitor, by: leader)
        case .gone(let session): gone = session
        case .emptied: isEmptied = true
        }
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.optional(2, "here", &here)
        try walker.optional(3, "gone", &gone)
        try walker.defaulted(4, "emptied", &isEmptied, default: false)
    }

    /// - Parameter node: that holds the session where the change names no other one.
    func change(at node: NodeID) throws(ChatError) -> PresenceUpdate.Change {
        if let here { return PresenceUpdate.Change(room: room, .here(here.visitor(at: node))) }
        if let gone { return PresenceUpdate.Change(room: room, .gone(gone)) }
        guard isEmptied else { throw ChatError(.badParameter, "a change of nobody") }
        return PresenceUpdate.Change(room: room, .emptied)
    }
}

private struct WiredVisitor: WireMessage {
    private var visitor: Visitor
    /// The node that holds the session where this is not the leader's.
    private var node: NodeID?

    static var blank: WiredVisitor {
        WiredVisitor(
            Visitor(
                key: PresenceKey(node: .blank, session: .blank), laneNumber: 0, user: .blank, profile: Profile(),
                anonymous: false, device: .web, enteredAt: .blank), by: .blank)
    }
    static var schemaName: String { "Visitor" }

    init(_ visitor: Visitor, by leader: NodeID) {
        self.visitor = visitor
        if visitor.key.node != leader { node = visitor.key.node }
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var lane = UInt32(clamping: visitor.laneNumber)
        var encoding = visitor.encoding.number
        try walker.required(1, "session", &visitor.key.session)
        try walker.shown(2, "lane", &lane)
        try walker.required(3, "encoding", &encoding)
        try walker.required(4, "user", &visitor.user)
        try walker.shown(5, "anonymous", &visitor.anonymous)
        try walker.required(6, "device", &visitor.device)
        try walker.required(7, "profile", &visitor.profile)
        try walker.shown(8, "enteredAt", &visitor.enteredAt)
        try walker.optional(9, "notifyExt", &visitor.notifyExt)
        try walker.optional(10, "addressHash", &visitor.addressHash)
        try walker.optional(11, "revivedAt", &visitor.revivedAt)
        try walker.shown(12, "enteredBy", &visitor.enteredBy)
        try walker.optional(13, "node", &node)
        guard W.isDecoding else { return }
        visitor.encoding = try ClientEncoding(wired: encoding)
        visitor.laneNumber = Int(lane)
    }

    func visitor(at leader: NodeID) -> Visitor {
        var visitor = visitor
        visitor.key.node = node ?? leader
        return visitor
    }
}
