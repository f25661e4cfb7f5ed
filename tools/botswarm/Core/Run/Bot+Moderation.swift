import ChatModel
import Synchronization
import Wire

/// An act of a manager, or of somebody who is none and tries.
struct ModerationAsk {
    enum Act: Hashable {
        case mute(Bool)
        case tempMute(seconds: Int64)
        case kick(banSeconds: Int64)
        case blacklist(Bool)
        case muteRoom(Bool)
    }

    let act: Act
    let user: UserID
    /// The protocol forbids it: the answer has to be 403.
    var isForbidden = false
    /// Undoes, at the end of the stage, what was done in it.
    var isLift = false
    var askedAt = SwarmInstant(nanoseconds: 0)
}

/// How managers keep order.
extension Bot {
    /// Does something to a random sender of the room. For a guest it is an attempt.
    func moderate() {
        guard isHere, !isLeaving, pending.count < Self.actsInFlight else { return }
        let target = lane.randomSender(inRoom: book.number)
        guard let target, target != id else { return }
        if !isManager {
            return act(ModerationAsk(act: .mute(true), user: lane.sightings.names.user(of: target), isForbidden: true))
        }
        if Int.random(in: 0..<100, using: &lane.random) < 3 {
            // Nobody acts on oneself.
            return act(ModerationAsk(act: .kick(banSeconds: 0), user: user, isForbidden: true))
        }
        act(ModerationAsk(act: randomAct(), user: lane.sightings.names.user(of: target)))
    }

    private func randomAct() -> ModerationAsk.Act {
        switch Int.random(in: 0..<100, using: &lane.random) {
        case ..<22: .mute(true)
        case ..<44: .mute(false)
        case ..<62: .tempMute(seconds: Int64.random(in: 1...3, using: &lane.random))
        case ..<67: .tempMute(seconds: 0)
        case ..<79: .kick(banSeconds: Int64.random(in: 0...2, using: &lane.random))
        case ..<86: .blacklist(true)
        case ..<96: .blacklist(false)
        case ..<97: .muteRoom(true)
        default: .muteRoom(false)
        }
    }

    private func act(_ ask: ModerationAsk) {
        var ask = ask
        ask.askedAt = lane.clock.now
        if !ask.isForbidden, !ask.isLift { remember(ask) }
        let room = book.room
        let operation: ClientOperation =
            switch ask.act {
            case .mute(let enable): .setMute(UserFlagRequest(room: room, user: ask.user, enable: enable))
            case .tempMute(let seconds): .tempMute(TempMuteRequest(room: room, user: ask.user, seconds: seconds))
            case .kick(let seconds):
                .kick(KickRequest(room: room, user: ask.user, banSeconds: seconds == 0 ? nil : seconds))
            case .blacklist(let enable): .setBlacklist(BlacklistRequest(room: room, user: ask.user, enable: enable))
            case .muteRoom(let enable): .muteRoom(MuteRoomRequest(room: room, enable: enable))
            }
        request(operation, .moderation(ask))
    }

    /// Notes how to undo it. Once for each user: undoing what is not is answered and tells nobody.
    private func remember(_ ask: ModerationAsk) {
        let undoing: ModerationAsk.Act? =
            switch ask.act {
            case .mute(true): .mute(false)
            case .tempMute: .tempMute(seconds: 0)
            case .blacklist(true): .blacklist(false)
            case .muteRoom(true): .muteRoom(false)
            default: nil
            }
        guard let undoing, !lifts.contains(where: { $0.act == undoing && $0.user == ask.user }) else { return }
        lifts.append(ModerationAsk(act: undoing, user: ask.user, isLift: true))
    }

    /// Undoes what is left, a little at a time.
    func lift() {
        guard isHere, !isLeaving, pending.count < 2, let ask = lifts.popLast() else { return }
        act(ask)
    }

    func moderated(_ ask: ModerationAsk) {
        lane.counters.moderations += 1
        if ask.act == .muteRoom(true) {
            // Long enough for somebody to run into it, and not the end of the show.
            after(milliseconds: Self.roomMuteMilliseconds) { [weak self] in
                guard let self, isHere else { return }
                act(ModerationAsk(act: .muteRoom(false), user: user))
            }
        }
        lane.latencies.note(.moderation, lane.readTime.microseconds(since: ask.askedAt))
        if ask.isForbidden {
            book.ledger.withLock { $0.noteWrongAnswer(viewer, "\(ask.act) of \(ask.user) is forbidden, and was done") }
        }
    }

    func moderationRefused(_ ask: ModerationAsk, _ error: ChatError) {
        if ask.isLift {
            lifts.insert(ask, at: 0)
        }
        var expected: Set<ErrorCode> = [.unavailable, .tooOften, .internal]
        if ask.isForbidden { expected.formUnion([.forbidden, .notInRoom]) }
        // Nobody is put out who is not there.
        if case .kick = ask.act { expected.insert(.notFound) }
        guard !expected.contains(error.code) else { return }
        book.ledger.withLock {
            $0.noteWrongAnswer(
                viewer, "\(ask.act) of \(ask.user) was answered \(error.code.number) \(error.message)")
        }
    }

    private static let actsInFlight = 4
    private static let roomMuteMilliseconds: UInt64 = 1_000
}
