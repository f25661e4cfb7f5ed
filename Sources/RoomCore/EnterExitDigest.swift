import ChatModel

/// Enters and exits of guests in a big room, told once a second in one 350 (PROTOCOL.md, "Codes").
///
/// Bounded: counts, and at most five names of each kind.
struct EnterExitDigest: Sendable {
    static let periodMilliseconds: Int64 = 1000
    static let namesMax = 5

    private var entered: Int64 = 0
    private var exited: Int64 = 0
    private var withExt: [DigestMember] = []
    private var withoutExt: [DigestMember] = []
    /// When the next 350 is due; nil while there is nothing to tell.
    private(set) var dueAt: Timestamp?

    init() {}

    mutating func enter(_ visitor: Visitor, at now: Timestamp) {
        begin(now)
        entered += 1
        let member = DigestMember(user: visitor.user, profile: visitor.profile, notifyExt: visitor.notifyExt)
        if visitor.notifyExt?.isEmpty == false {
            if withExt.count < Self.namesMax { withExt.append(member) }
        } else if withoutExt.count < Self.namesMax {
            withoutExt.append(member)
        }
    }

    mutating func exit(at now: Timestamp) {
        begin(now)
        exited += 1
    }

    private mutating func begin(_ now: Timestamp) {
        if dueAt == nil { dueAt = now.adding(milliseconds: Self.periodMilliseconds) }
    }

    /// The 350, if one is due; the next period begins with the next enter or exit.
    mutating func take(online: Int64, at now: Timestamp) -> Notification? {
        guard let dueAt, dueAt <= now else { return nil }
        var notification = Notification(.digest)
        notification.data = .digest(
            entered: entered, exited: exited, online: online,
            members: Array((withExt + withoutExt).prefix(Self.namesMax)))
        self = EnterExitDigest()
        return notification
    }
}
