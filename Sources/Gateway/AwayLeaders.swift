import ChatModel
import RoomProtocol
import Wire

/// The news for viewers of a room whose leader is away: LOST, and ENTERED or FAILED after it (PROTOCOL.md, "The room's
/// leader"). Pure: times are passed in. It is asked ten times a second, so it costs nothing per message.
///
/// A leader is away from a lane while the lane knows none for the shard, while the node's own replica does not hear it, and
/// until it goes on from what the lane's viewers have been shown (`AwaitedStreams`).
struct AwayLeaders {
    /// A planned move takes less than 100 ms, and a leader that is killed is replaced within 200 ms
    /// (docs/BENCHMARKS.md, "Three nodes"): for these nobody is told anything.
    static let lostMilliseconds: UInt64 = 500
    /// How long a room may be LOST. Longer than a cluster takes to be restarted, because FAILED ends each viewer's stay,
    /// and all of them would enter again at once.
    static let failedMilliseconds: UInt64 = 120_000

    struct News: Hashable {
        var room: RoomID
        var status: RoomStatus
    }

    private struct Lost {
        var shard: ShardID
        var since: UInt64
    }

    /// Shards without a leader, since when, and whether their viewers have been told.
    private var shards: [ShardID: (since: UInt64, isTold: Bool)] = [:]
    /// Rooms of shards with a leader whose streams have not gone on, since when the leader is away.
    private var rooms: [RoomID: UInt64] = [:]
    /// Rooms whose viewers have been told LOST, and since then neither ENTERED nor FAILED.
    private var lost: [RoomID: Lost] = [:]

    /// Whether the viewers have been told LOST, and since then neither ENTERED nor FAILED.
    func isLost(_ room: RoomID) -> Bool { lost[room] != nil }

    /// The room has come back, and its viewers are told so now.
    mutating func comeBack(_ room: RoomID) {
        lost[room] = nil
        rooms[room] = nil
    }

    /// The news that viewers are to be told now.
    /// - Parameters:
    ///   - roster: the rooms that the lane's sessions are in.
    ///   - isLed: whether a shard has a leader that is trusted.
    ///   - awaited: the rooms whose leaders have been told what viewers were shown, and have not gone on.
    mutating func look(
        at now: UInt64, _ roster: LaneRoster, awaited: AwaitedStreams, isLed: (ShardID) -> Bool
    ) -> [News] {
        var news: [News] = []
        for shard in roster.shards {
            if !isLed(shard) {
                let away = shards[shard] ?? (now, false)
                let isDue = !away.isTold && now >= away.since + Self.lostMilliseconds
                shards[shard] = (away.since, away.isTold || isDue)
                guard isDue else { continue }
                for room in roster.rooms(of: shard) { lose(room, of: shard, at: now, &news) }
            } else if let away = shards.removeValue(forKey: shard) {
                for room in roster.rooms(of: shard) where awaited.awaits(room) && rooms[room] == nil {
                    rooms[room] = away.since
                }
            }
        }
        lookAtAwaited(at: now, roster, awaited, &news)
        guard !lost.isEmpty else { return news }
        for (room, entry) in lost {
            if !roster.rooms(of: entry.shard).contains(room) {
                // Nobody is in it any more.
                lost[room] = nil
            } else if isLed(entry.shard), !awaited.awaits(room) {
                comeBack(room)
                news.append(News(room: room, status: .entered))
            } else if now >= entry.since + Self.failedMilliseconds {
                comeBack(room)
                news.append(News(room: room, status: .failed))
            }
        }
        return news
    }

    /// Rooms of shards with a leader, that does not go on with them.
    private mutating func lookAtAwaited(
        at now: UInt64, _ roster: LaneRoster, _ awaited: AwaitedStreams, _ news: inout [News]
    ) {
        if !rooms.isEmpty { rooms = rooms.filter { awaited.awaits($0.key) } }
        for (room, shard) in awaited.rooms where shards[shard] == nil && roster.rooms(of: shard).contains(room) {
            let since = rooms[room] ?? now
            rooms[room] = since
            if now >= since + Self.lostMilliseconds { lose(room, of: shard, at: now, &news) }
        }
        if shards.isEmpty { return }
        let watched = Set(roster.shards)
        shards = shards.filter { watched.contains($0.key) }
    }

    private mutating func lose(_ room: RoomID, of shard: ShardID, at now: UInt64, _ news: inout [News]) {
        guard lost[room] == nil else { return }
        lost[room] = Lost(shard: shard, since: now)
        news.append(News(room: room, status: .lost))
    }
}
