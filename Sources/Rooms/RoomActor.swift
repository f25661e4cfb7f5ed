import ChatModel
import GroupDriver
import History
import RoomCore
import RoomProtocol
import Wire

/// Asks a part of a room something where it lies. A method that changes nothing would be given a copy of all that the
/// part refers to, because the compiler cannot know that it changes nothing of the actor (`RoomState.inPlace`).
@inline(never)
func inPlace<Part, Value>(_ part: inout Part, _ question: (inout Part) -> Value) -> Value { question(&part) }

/// One active chatroom, pinned to the loop of its shard.
///
/// Durable state (`RoomState`) changes only in `apply`, in log order. Presence and barrage are soft and belong to the
/// leader. The output of a turn is collected in `stream` and taken once, at the end of the turn.
actor RoomActor {
    nonisolated let id: RoomID
    /// The number of the ID (`RoomTally.number`).
    nonisolated let number: UInt64
    nonisolated let context: RoomContext
    nonisolated let storage: ShardStorage
    nonisolated let shard: ShardID
    let wakeHost: @Sendable (RoomActor) -> Void

    nonisolated var unownedExecutor: UnownedSerialExecutor { context.loop.asUnownedSerialExecutor() }

    var state: RoomState
    var presence: Presence
    var recent = RecentHistory()
    var desk: BarrageDesk
    var tallyDesk = TallyDesk()
    var budget = ViewerBudget()
    var stream = TurnStream()
    /// The rest of this turn's output.
    var turn = RoomTurn()
    var entering = RoomEntering()
    var waiting = WaitingSessions()
    var reading = RoomReading()
    var graces = Graces()
    var times: RoomTimes
    /// Whether this node leads the room. Once it does not any more, the room leaves memory.
    private(set) var isLed: Bool
    /// The tallies of lanes as they were made last.
    var laneTallies: (stamp: TallyStamp, tallies: [LaneRoomTally])?
    /// The host's notes.
    var note = RoomAgenda.Note()

    /// Throws `WireError` when stored rows can't be understood.
    /// - Parameters:
    ///   - ledSince: since when this node leads the shard; nil while it does not.
    ///   - wake: tells the host that something was emitted outside of a call.
    init(
        id: RoomID, shard: ShardID, ledSince: Timestamp?, loaded: LoadedRoom, storage: ShardStorage,
        context: RoomContext, wake: @escaping @Sendable (RoomActor) -> Void
    ) throws {
        self.id = id
        number = RoomTally.number(of: id)
        wakeHost = wake
        self.shard = shard
        self.storage = storage
        self.context = context
        presence = Presence(policy: context.policy)
        desk = BarrageDesk(
            perSecond: context.policy.barragePerViewerPerSecond, highPerSecond: context.policy.highPerSecondMax)
        let now = context.now()
        times = RoomTimes(activatedAt: now, ledSince: ledSince ?? now)
        isLed = ledSince != nil
        let learning = context.policy.onlinePushSeconds
        if let ledSince, now < ledSince.adding(seconds: learning) { presence.beginCounting(at: now) }
        (state, recent.tail) = try Self.restore(id, loaded)
        desk.toldMuted = state.info?.muted ?? false
        desk.window.highPerSecond = Self.highPerSecond(state.highPerSecond, context.policy)
        for (robot, enteredAt) in state.robotsByEntering {
            guard let visitor = Visitor(robot, enteredAt: enteredAt) else { continue }
            _ = presence.announce(visitor, role: state.role(of: robot.user))
        }
        let graceEnd = times.activatedAt.adding(seconds: context.policy.graceSeconds)
        for owner in state.transientOwners { graces.absentOwners[owner] = graceEnd }
    }

    /// When those whom former leaders knew have been announced, or have left.
    var takeoverEnd: Timestamp { times.ledSince.adding(seconds: context.policy.graceSeconds) }

    /// This node leads the room from now on, and knows of nobody who is here.
    func lead(at now: Timestamp) {
        times = RoomTimes(activatedAt: now, ledSince: now)
        isLed = true
        // Nobody else is here; whoever has not come back within the grace has left.
        let graceEnd = times.activatedAt.adding(seconds: context.policy.graceSeconds)
        graces.absentOwners = [:]
        graces.forgetDeparted()
        graces.beginLeading()
        presence.beginCounting(at: now)
        for owner in state.transientOwners { graces.absentOwners[owner] = graceEnd }
        touch()
    }

    private static func restore(_ id: RoomID, _ loaded: LoadedRoom) throws -> (RoomState, HotTail) {
        var record: RoomRecord?
        var rows: [CatalogueChange] = []
        for row in loaded.catalogue {
            guard let kind = CatalogueKind(rawValue: row.kind) else {
                throw UnknownContent(rowKind: row.kind, of: "room \(id)", own: .newest)
            }
            guard let bytes = row.value else { continue }
            let value: CatalogueValue
            do throws(WireError) {
                value = try CatalogueCodec.decode(kind: kind, bytes, .allFields)
            } catch {
                throw error.code == .unknown ? UnknownContent("a row of room \(id)", error, own: .newest) : error
            }
            if case .room(let found) = value {
                record = found
            } else {
                rows.append(CatalogueChange(kind: kind, key: row.key, value: value, deadline: row.deadline))
            }
        }
        let deleted = rows.lazy.compactMap { change -> RoomRecord? in
            if case .deletedRoom(let deleted)? = change.value { deleted.room } else { nil }
        }.first
        let isDeleted = record == nil
        guard let record = record ?? deleted else { return (RoomState(absent: id, rows: rows), HotTail()) }
        var tail = HotTail()
        // While the log is replayed, history may be ahead of the catalogue: those messages are applied again.
        var priorities: [UInt64: Priority] = [:]
        for row in loaded.tail where row.seq <= record.lastSeq {
            let message = try HistoryCodec.decode(row.payload)
            priorities[row.seq] = message.priority
            tail.append(message, as: row.payload)
        }
        let recent = loaded.commands.reversed().filter { $0.seq <= record.lastSeq }
        let commands = recent.map {
            RecentCommand(key: $0.key, seq: $0.seq, time: $0.time, priority: priorities[$0.seq])
        }
        let state =
            isDeleted
            ? RoomState(absent: id, rows: rows, recentCommands: commands)
            : RoomState(restoring: record, rows: rows, recentCommands: commands)
        return (state, tail)
    }

    /// The time of the newest kept message.
    var newestTime: Timestamp? { recent.tail.last?.time }

    /// The room as members see it; nil when it doesn't exist.
    var roomView: RoomView? {
        state.info.map { RoomView(info: shown($0), online: Int64(presence.online)) }
    }
}
