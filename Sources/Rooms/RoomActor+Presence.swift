import ChatModel
import Logging
import RoomCore
import RoomProtocol
import Wire

/// Presence, as the room's leader knows it, and its notifications.
extension RoomActor {
    func role(of visitor: Visitor) -> Role {
        visitor.anonymous ? .anonymous : state.role(of: visitor.user)
    }

    func exit(_ key: PresenceKey, at now: Timestamp) {
        perform(presence.exit(key, notify: state.info?.enterExitNotify ?? .none, at: now))
    }

    /// Robots come as others do: counted, listed and told.
    func enter(_ robots: [Robot], at now: Timestamp) {
        for robot in robots {
            guard let visitor = Visitor(robot, enteredAt: now) else { continue }
            do throws(ChatError) {
                perform(
                    try presence.enter(
                        visitor, role: role(of: visitor), notify: state.info?.enterExitNotify ?? EnterExitNotify.none,
                        at: now))
            } catch {
                // Nobody conflicts with a robot.
                context.logger.error("a robot could not enter", metadata: ["room": "\(id)", "error": "\(error)"])
            }
        }
    }

    /// Performs what follows from somebody coming or going.
    func perform(_ effects: [PresenceEffect]) {
        for effect in effects {
            switch effect {
            case .kick(let visitor, let reason):
                cancelReads(of: visitor.key)
                stream.notify(visitor.lane, .kicked(visitor.key.session, reason, ext: nil))
            case .arrived(let user):
                graces.arrive(user)
                offer(.enter, UserName(user: user, nick: presence.profile(of: user)?.nick ?? ""))
            case .departed(let name):
                offer(.exit, name)
                clearSeats(of: [name.user])
                graces.depart(name.user, mayReturn: isAnnouncing(at: context.now()))
            case .show(let notification):
                show(notification)
            case .online(let online):
                show(online: online)
            }
        }
        noteEmptiness()
    }

    /// Transient elements go with their owner, all in one 320 (PROTOCOL.md, "Seats"). A drop gets here when its grace
    /// has passed; a kick clears them where it is applied.
    func clearSeats(of owners: [UserID]) {
        let elements = owners.flatMap { state.transientElements(of: $0) }.map { QueueElementVersion($0) }
        guard !elements.isEmpty else { return }
        // They are looked at again, should the proposal be lost.
        let again = context.now().adding(seconds: 1)
        for owner in owners { graces.absentOwners[owner] = again }
        propose(
            Proposal(
                command: Command(id: nil, room: id, actor: .system, body: .queueRemove(elements), facts: facts(owners)),
                key: nil, origin: .room))
    }

    /// A seat for somebody who is not here is kept for the grace, in which its owner may enter.
    func noteOwner(of element: QueueElement) {
        guard element.transient, !presence.isHere(element.owner), graces.absentOwners[element.owner] == nil else {
            return
        }
        graces.absentOwners[element.owner] = context.now().adding(seconds: context.policy.graceSeconds)
    }

    /// A session has taken a seat or given one, and its owner has left or was kicked while that was on its way through
    /// the log: the seat goes at once. A user whom the server API seats has the grace to enter; and one who has asked a
    /// former leader is not here yet, but may be announced, unless this leader has seen that user leave.
    func clearSeatsOfGone(by proposal: Proposal) {
        switch proposal.command.body {
        case .queueSet, .queueSetMany: break
        default: return
        }
        guard case .session = proposal.origin, var owner = proposal.command.actor.user else { return }
        switch proposal.command.body {
        case .queueSet(let write, _):
            guard let named = write.owner else { break }
            guard graces.departed.contains(named) || !mayBeAnnounced(named, at: context.now()) else { return }
            owner = named
        case .queueSetMany: break
        default: return
        }
        guard !presence.isHere(owner) else { return }
        clearSeats(of: [owner])
    }

    /// The grace of owners who did not come has passed.
    func clearAbandonedSeats(at now: Timestamp) {
        guard !graces.absentOwners.isEmpty else { return }
        graces.absentOwners = graces.absentOwners.filter { owner, _ in
            !presence.isHere(owner) && !state.transientElements(of: owner).isEmpty
        }
        clearSeats(of: graces.absentOwners.filter { $0.value <= now }.map(\.key).sorted())
    }

    /// As clients see an element: held while its owner is away or has not come yet.
    private func shown(_ element: QueueElement) -> QueueElement {
        var element = element
        element.held = element.transient && !presence.isAttended(element.owner)
        return element
    }

    /// Ends the stay of sessions that were put out.
    func leave(_ visitors: [Visitor], _ reason: KickReason, _ ext: String?) {
        // They see what put them out, then the end.
        stream.endFrame()
        var names: [UserID: String] = [:]
        for visitor in visitors { names[visitor.user] = visitor.profile.nick }
        for (user, nick) in names { offer(.exit, UserName(user: user, nick: nick)) }
        for visitor in visitors where !visitor.isRobot {
            cancelReads(of: visitor.key)
            stream.notify(visitor.lane, .kicked(visitor.key.session, reason, ext: ext))
        }
    }

    /// 301, 302 and 350: unkept, so they never go through the log.
    private func show(_ notification: Notification) {
        guard let incarnation = state.incarnation else { return }
        publish(
            presence.message(notification, in: id, incarnation, after: state.lastSeq, at: context.now()))
    }

    private func show(online: Int64) {
        var writer = stream.blankWriter
        writer.append(.online(OnlinePush(room: id, online: online)))
        stream.publishToEverybody(.frame(writer.frame(.status)))
    }

    // MARK: - Listings

    /// nil for somebody who is neither here nor known: a guest is a member only while here.
    /// - Parameter viewer: who asks; nil is the server API.
    func member(_ user: UserID, at now: Timestamp, for viewer: UserID?) -> Member? {
        let role = state.role(of: user)
        guard presence.isHere(user) || (seesAll(viewer) ? role : role.shownToOthers).isFixed || viewer == user else {
            return nil
        }
        return shown(presence.overlay(state.member(user, at: now)), to: viewer)
    }

    /// - Parameter viewer: who asks; nil is the server API.
    func members(_ kind: MemberKind, after: String?, limit: Int, at now: Timestamp, for viewer: UserID?)
        throws(ChatError) -> Page<Member, String>
    {
        switch kind {
        case .fixed, .managers, .muted, .blacklisted, .banned:
            var page = try state.members(kind, after: after, limit: limit, at: now, all: seesAll(viewer))
            page.items = page.items.map { shown(presence.overlay($0), to: viewer) }
            return page
        case .fixedOnline, .temporary, .temporaryReversed:
            let page = try presence.users(kind, after: after, limit: limit, all: seesAll(viewer))
            return Page(
                items: page.items.map { shown(presence.overlay(state.member($0, at: now)), to: viewer) },
                next: page.next)
        }
    }

    /// Mutes and the blacklist are shown to managers, to the server API and to oneself (PROTOCOL.md, "Operations").
    private func shown(_ member: Member, to viewer: UserID?) -> Member {
        seesAll(viewer) || viewer == member.user ? member : member.shownToOthers
    }

    private func seesAll(_ viewer: UserID?) -> Bool { viewer.map { state.role(of: $0).rank > 0 } ?? true }

    func queueElements() -> [QueueElement] {
        (try? state.queuePage(after: nil, limit: state.queueCount))?.items.map(shown) ?? []
    }

    func queuePage(_ request: QueueRequest) throws(ChatError) -> QueueResult {
        let page = try state.queuePage(after: request.after, limit: Int(request.limit))
        var result = QueueResult(elements: page.items.map(shown), seq: state.lastSeq)
        result.next = page.next
        return result
    }
}
