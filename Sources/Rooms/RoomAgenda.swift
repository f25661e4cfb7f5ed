import ChatModel
import EventLoop
import RoomCore
import RoomProtocol

/// A shard's host notes here when each room in memory has something to do next, how many rooms have sessions in their
/// grace, and what all rooms believe of lanes. So it need not look at all of them.
struct RoomAgenda {
    /// The part that a room keeps, so that most turns change nothing here.
    struct Note {
        /// The time for which the room lies in the wheel; nil: it is not there.
        var dueAt: Timestamp?
        /// When the room was looked at last.
        var lookedAt = Timestamp(.min)
        /// When the room proposed what was due, if that may be on its way still.
        var proposedDueAt: Timestamp?
        var hasGraces = false
        /// How many were in it.
        var online = 0
        /// The host asks for the room's tallies with the next pulse.
        var hasNewTallies = false
        /// The tallies that are in the shard's sum.
        var summedUp: [RoomActor.LaneRoomTally] = []
    }

    /// The changes of what the host knows of a room.
    struct Plan {
        /// When the room is to be looked at, where that is earlier than planned.
        var due: Timestamp?
        /// By how much the number of rooms with sessions in their grace changes.
        var graces: Int
        var formerOnline: Int
        var online: Int
    }

    private var wheel = TimerWheel<RoomID>()
    /// When rooms were looked at last.
    private var lookedAt = Timestamp(.min)
    /// How many rooms have sessions in their grace.
    private(set) var graceCount = 0
    /// How many rooms somebody is in, and how many people are in them.
    private(set) var occupied = 0
    private(set) var online = 0
    private var withNewTallies: [RoomActor] = []
    private var byLane: [Lane: LaneTally] = [:]

    /// The host calls this at the end of a turn in which anything may have changed in the room.
    mutating func note(_ room: RoomActor, isLed: Bool, at now: Timestamp) {
        let (isFirst, plan) = room.onLoop { room in
            room.times.idleSince = now
            let isFirst = isLed && !room.note.hasNewTallies
            if isFirst { room.note.hasNewTallies = true }
            return (isFirst, room.plan(isLed: isLed, at: now))
        }
        if isFirst { withNewTallies.append(room) }
        take(plan, of: room, at: now)
    }

    /// Puts the room where it has something to do next. One that is to be looked at earlier stays where it is: it says
    /// then when it really is due.
    mutating func plan(_ room: RoomActor, isLed: Bool, at now: Timestamp) {
        take(room.onLoop { $0.plan(isLed: isLed, at: now) }, of: room, at: now)
    }

    private mutating func take(_ plan: Plan, of room: RoomActor, at now: Timestamp) {
        graceCount += plan.graces
        countPeople(plan.formerOnline, plan.online)
        if let due = plan.due { wheel.set(room.id, at: due.milliseconds, now: now.milliseconds) }
    }

    private mutating func countPeople(_ former: Int, _ new: Int) {
        online += new - former
        occupied += (new > 0 ? 1 : 0) - (former > 0 ? 1 : 0)
    }

    /// There was no time for all that is due in the room.
    mutating func planAgain(_ room: RoomActor, at now: Timestamp) {
        room.onLoop { $0.note.dueAt = now }
        wheel.set(room.id, at: now.milliseconds, now: now.milliseconds)
    }

    /// The host calls this before it looks at rooms.
    /// - Returns: whether the clock was set back since: `planAnew` is due, because rooms were planned by the former time.
    mutating func beginLook(at now: Timestamp) -> Bool {
        defer { lookedAt = now }
        return now.adding(seconds: 1) < lookedAt
    }

    mutating func planAnew(_ rooms: some Sequence<RoomActor>, isLed: Bool, at now: Timestamp) {
        wheel.removeAll()
        for room in rooms {
            room.onLoop { room in
                (room.note.dueAt, room.note.proposedDueAt) = (nil, nil)
                room.times.idleSince = min(room.times.idleSince, now)
            }
            plan(room, isLed: isLed, at: now)
        }
    }

    /// Takes one step towards the rooms that are due; nil when no more are.
    mutating func next(at now: Timestamp) -> TimerWheel<RoomID>.Step? { wheel.next(at: now.milliseconds) }

    /// The room leaves memory.
    mutating func forget(_ room: RoomActor) {
        let note = room.onLoop { room in
            defer { room.note = Note() }
            return room.note
        }
        if note.dueAt != nil { wheel.remove(room.id) }
        if note.hasGraces { graceCount -= 1 }
        countPeople(note.online, 0)
        sum(note.summedUp, [])
    }

    /// All rooms leave memory.
    mutating func removeAll() { self = RoomAgenda() }

    /// The sum of all rooms' tallies, by lane. It costs as much as has changed since it was asked for.
    mutating func tallies() -> [Lane: LaneTally] {
        for room in withNewTallies {
            let (former, new) = room.onLoop { room in
                let former = room.note.summedUp
                room.note.hasNewTallies = false
                room.note.summedUp = room.tallies()
                return (former, room.note.summedUp)
            }
            sum(former, new)
        }
        withNewTallies.removeAll(keepingCapacity: withNewTallies.count < 1_024)
        return byLane
    }

    private mutating func sum(_ former: [RoomActor.LaneRoomTally], _ new: [RoomActor.LaneRoomTally]) {
        for known in new {
            byLane[known.lane, default: LaneTally(lane: known.lane.number)].add(digest: known.digest)
        }
        for known in former {
            byLane[known.lane]?.remove(digest: known.digest)
            if byLane[known.lane]?.rooms == 0 { byLane[known.lane] = nil }
        }
    }
}
