import ChatModel

/// The users that may speak, and that may be here, as the room's notifications tell it.
package struct StandingModel: Sendable {
    /// Seqs of the stream between which something held; the end is open while it holds.
    struct Span: Sendable {
        let from: UInt64
        var to: UInt64?

        /// Whether it held at some place of `range`, an open end being the end of the stream.
        func overlaps(_ low: UInt64, _ high: UInt64?) -> Bool {
            (to ?? .max) >= low && from <= (high ?? .max)
        }
    }

    private struct TemporaryMute: Sendable {
        let until: Timestamp
    }

    private var mutes: [UserID: [Span]] = [:]
    private var temporaryMutes: [UserID: [Span]] = [:]
    private var temporary: [UserID: TemporaryMute] = [:]
    private var blacklistings: [UserID: [Span]] = [:]
    private var roomMutes: [Span] = []
    private(set) var kicks: [UserID: [UInt64]] = [:]

    package init() {}

    package mutating func apply(_ event: RoomEvent, at seq: UInt64, time: Timestamp) {
        switch event {
        case .muted(let users, let enable):
            for user in users { Self.turn(&mutes[user, default: []], enable, seq) }
        case .temporarilyMuted(let users, let seconds):
            for user in users {
                Self.turn(&temporaryMutes[user, default: []], true, seq)
                temporary[user] = TemporaryMute(until: time.adding(seconds: seconds))
            }
        case .temporaryMuteLifted(let users):
            for user in users {
                Self.turn(&temporaryMutes[user, default: []], false, seq)
                temporary[user] = nil
            }
        case .roomMuted(let enable): Self.turn(&roomMutes, enable, seq)
        case .blacklisted(let users, let enable):
            for user in users {
                Self.turn(&blacklistings[user, default: []], enable, seq)
                if enable { kicks[user, default: []].append(seq) }
            }
        case .kicked(let users): for user in users { kicks[user, default: []].append(seq) }
        default: break
        }
    }

    private static func turn(_ spans: inout [Span], _ on: Bool, _ seq: UInt64) {
        let isOn = spans.last.map { $0.to == nil } ?? false
        if on, !isOn { spans.append(Span(from: seq, to: nil)) }
        if !on, isOn { spans[spans.count - 1].to = seq }
    }

    /// Why a message of `user`, applied at `time` at the present end of the stream, should not be there.
    package func objection(toMessageOf user: UserID, isManager: Bool, at time: Timestamp) -> String? {
        if Self.isOn(mutes[user]) { return "is muted" }
        // A temporary mute ends on time; the 315 may come a little later.
        if let mute = temporary[user], time < mute.until { return "is temporarily muted" }
        if !isManager, Self.isOn(roomMutes) { return "is a guest of a muted room" }
        return isBlacklisted(user) ? "is blacklisted" : nil
    }

    package func isBlacklisted(_ user: UserID) -> Bool { Self.isOn(blacklistings[user]) }

    private static func isOn(_ spans: [Span]?) -> Bool { spans?.last.map { $0.to == nil } ?? false }

    // MARK: - After the whole stream was followed

    /// Whether `user` was muted at some place between two seqs; a nil `high` is the end.
    func wasMuted(_ user: UserID, from low: UInt64, to high: UInt64?) -> Bool {
        (mutes[user] ?? []).contains { $0.overlaps(low, high) }
            || (temporaryMutes[user] ?? []).contains { $0.overlaps(low, high) }
    }

    func wasRoomMuted(from low: UInt64, to high: UInt64?) -> Bool { roomMutes.contains { $0.overlaps(low, high) } }

    func wasBlacklisted(_ user: UserID, from low: UInt64) -> Bool {
        (blacklistings[user] ?? []).contains { $0.overlaps(low, nil) }
    }

    /// Whether `user` was blacklisted at a seq, well before it and well after it: the place where a viewer joins the
    /// stream may be a turn away from where it was let in.
    func wasBlacklisted(_ user: UserID, around seq: UInt64) -> Bool {
        (blacklistings[user] ?? []).contains {
            $0.from + Self.turnMessages <= seq && ($0.to ?? .max) > seq + Self.turnMessages
        }
    }

    private static let turnMessages: UInt64 = 64

    /// The stream's word on a user, for people who look for a fault.
    func text(of user: UserID) -> String {
        func text(_ what: String, _ spans: [Span]) -> [String] {
            spans.suffix(4).map { "\(what) \($0.from)–\($0.to.map { "\($0)" } ?? "")" }
        }
        let all =
            text("muted", mutes[user] ?? []) + text("muted for a time", temporaryMutes[user] ?? [])
            + text("room muted", roomMutes) + text("blacklisted", blacklistings[user] ?? [])
            + (kicks[user] ?? []).suffix(4).map { "put out \($0)" }
        return all.isEmpty ? "nothing" : all.joined(separator: ", ")
    }

    /// Whether `user` was put out at or after a seq.
    func wasPutOut(_ user: UserID, from low: UInt64) -> Bool { (kicks[user]?.last ?? 0) >= low && kicks[user] != nil }
}
