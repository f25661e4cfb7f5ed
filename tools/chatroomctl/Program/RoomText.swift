import ControlClient

/// Rooms for people.
enum RoomText {
    static func table(_ rooms: [JSONTree]) -> [String] {
        var table = Table(["ROOM", "NAME", "CREATOR", "ONLINE", "STATE", "CREATED", "SHARD", "LEADER"])
        for room in rooms {
            table.add([
                text(room, "id"), text(room, "name"), text(room, "creator"), text(room, "online"), state(room),
                time(room, "createdAt"), text(room, "shard"), text(room, "leader"),
            ])
        }
        return table.lines()
    }

    /// Rooms that can be restored, and until when.
    static func deleted(_ rooms: [JSONTree]) -> [String] {
        var table = Table(["ROOM", "NAME", "CREATOR", "DELETED", "UNTIL"])
        for room in rooms {
            table.add([
                text(room, "id"), text(room, "name"), text(room, "creator"), time(room, "deletedAt"),
                time(room, "purgeAt"),
            ])
        }
        return table.lines()
    }

    static func facts(_ room: JSONTree) -> [String] {
        Table.facts([
            ("room", text(room, "id")), ("name", text(room, "name")), ("creator", text(room, "creator")),
            ("state", state(room)), ("online", text(room, "online")), ("created", time(room, "createdAt")),
            ("announcement", text(room, "announcement")), ("ext", text(room, "ext")),
            ("broadcastUrl", text(room, "broadcastUrl")), ("entry", text(room, "entry")),
            ("queueLevel", text(room, "queueLevel")), ("enterExitNotify", text(room, "enterExitNotify")),
            ("slowModeSeconds", text(room, "slowModeSeconds")), ("idleCloseSeconds", text(room, "idleCloseSeconds")),
            ("viewerBudget", text(room, "viewerBudget")), ("highPerSecond", text(room, "highPerSecond")),
            ("seatsPerUser", text(room, "seatsPerUser")), ("historyDays", text(room, "historyDays")),
            ("shard", text(room, "shard")),
            ("leader", text(room, "leader")),
        ])
    }

    private static func state(_ room: JSONTree) -> String {
        let closed = room["closed"]?.boolean == true
        let muted = room["muted"]?.boolean == true
        return (closed ? "closed" : "open") + (muted ? ", muted" : "")
    }

    private static func text(_ room: JSONTree, _ name: String) -> String { room[name]?.shown ?? "" }

    private static func time(_ room: JSONTree, _ name: String) -> String {
        room[name]?.integer.map(TimeText.full) ?? ""
    }
}
