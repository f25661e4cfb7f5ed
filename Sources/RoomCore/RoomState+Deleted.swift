import ChatModel

/// A room that was deleted and can be restored for a while (PROTOCOL.md, "Deleting a room"). There is none of its ID for
/// anybody; `.undeleteRoom` brings it back, until its time is over, its ID is taken again, or it is purged.
struct DeletedRoom: Sendable {
    var record: DeletedRoomRecord
    var members: MemberTable
    var queue: RoomQueue
    var tallies: TallyTable
    var uploads: UploadTable
    var polls: PollTable
    var reports: ReportTable
    var denied: DeniedTable
}

extension RoomState {
    /// Whether there is a deleted room of this ID that can be restored.
    var isKeptDeleted: Bool { deleted != nil }

    /// The room ends like one that is closed, and stays aside. People, transient elements and slow mode's times
    /// go; posts are remembered, for history has them, and so is what was held: a repeat of its send is no new message
    /// once the room is back.
    mutating func keepDeleted(for command: Command, _ outcome: inout Outcome) {
        for element in queue.transientElements { drop(element.key, &outcome) }
        forgetRobots(Array(robots.keys), &outcome)
        for user in slow.times.keys.sorted() { outcome.rows.append(slowRow(user, nil)) }
        denyAllHeld(&outcome)
        // Nothing of it ends while it is aside.
        putMembersWithDeadlines(withDeadline: false, &outcome)
        for entry in polls.all { outcome.rows.append(pollRow(entry.record, withDeadline: false)) }
        noteKickOfAll(&outcome)
        guard var room = record else { return }
        room.info.closed = true
        room.emptySince = nil
        room.robots = 0
        room.nextQueuePosition = queue.nextPosition
        let kept = DeletedRoomRecord(
            room: room, deletedAt: outcome.time,
            purgeAt: outcome.time.adding(seconds: command.facts.keepDeletedSeconds))
        bury(kept)
        outcome.rows.append(
            CatalogueChange(kind: .deletedRoom, key: "", value: .deletedRoom(kept), deadline: kept.purgeAt))
        outcome.touchesRoom = true
    }

    /// The room's content goes aside.
    mutating func bury(_ kept: DeletedRoomRecord) {
        deleted = DeletedRoom(
            record: kept, members: members, queue: queue, tallies: tallies, uploads: uploads, polls: polls,
            reports: reports, denied: denied)
        clearContent()
    }

    /// The room is back: closed, in the same life, with members, history, and the queue.
    mutating func undeleteRoom(for command: Command, _ outcome: inout Outcome) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        guard !exists else { throw ChatError(.conflict, "the room \(room) exists") }
        guard let deleted, deleted.record.purgeAt > outcome.time else {
            throw ChatError(.notFound, "there is no deleted room \(room)")
        }
        self.deleted = nil
        record = deleted.record.room
        (members, queue, tallies, uploads) = (deleted.members, deleted.queue, deleted.tallies, deleted.uploads)
        (polls, reports, denied) = (deleted.polls, deleted.reports, deleted.denied)
        outcome.rows.append(CatalogueChange(kind: .deletedRoom, key: "", value: nil))
        putMembersWithDeadlines(withDeadline: true, &outcome)
        for entry in polls.all { outcome.rows.append(pollRow(entry.record)) }
        outcome.touchesRoom = true
        owe(.undeleted, for: command, &outcome)
        return .room(deleted.record.room.info)
    }

    /// The room goes for good, also one that was deleted before.
    mutating func purgeRoom(for command: Command, _ outcome: inout Outcome) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        guard deleted == nil else {
            purge(&outcome)
            return .done
        }
        var atOnce = command
        atOnce.facts.keepDeletedSeconds = 0
        return try deleteRoom(for: atOnce, &outcome)
    }

    /// A deleted room can't be had back any more; nothing, if there is none.
    mutating func purge(_ outcome: inout Outcome) {
        guard let deleted else { return }
        self.deleted = nil
        ledger.forgetPosts()
        outcome.rows.append(CatalogueChange(kind: .deletedRoom, key: "", value: nil))
        outcome.endings.append(.retire(deleted.record.room.incarnation))
    }

    /// The rows of members of whom something ends: with the deadline or without.
    private mutating func putMembersWithDeadlines(withDeadline: Bool, _ outcome: inout Outcome) {
        for deadline in members.deadlines.elements {
            guard let member = members[deadline.user] else { continue }
            outcome.rows.append(
                CatalogueChange(
                    kind: .member, key: deadline.user.text, value: .member(member),
                    deadline: withDeadline ? deadline.time : nil))
        }
    }
}
