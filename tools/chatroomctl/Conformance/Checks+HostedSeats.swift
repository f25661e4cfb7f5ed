import ControlClient

/// Seats as hosts run them (PROTOCOL.md, "Queue" and "Seats").
extension ConformanceCheck {
    private static func set(_ room: String, _ key: String, _ more: JSONTree = [:]) -> JSONTree {
        (["room": .text(room), "key": .text(key), "value": "v"] as JSONTree).adding(more)
    }

    private static func seat(_ room: String, _ key: String, _ more: JSONTree = [:]) -> JSONTree {
        set(room, key, (["transient": true] as JSONTree).adding(more))
    }

    /// A room with its creator and two guests in it.
    private static func hosted(_ run: ConformanceRun, _ settings: JSONTree = [:]) async throws -> HostedRoom {
        let (creator, ann, bob) = (run.name("creator"), run.name("ann"), run.name("bob"))
        let host = try await run.open()
        let session = try await host.ask("connect", ["token": .text(try await run.token(creator))])
        guard session["features"]?.items.contains("seats") == true else {
            throw NotChecked("the cluster's feature level does not bring them")
        }
        let room = try await run.room(settings, creator: creator)
        try await host.ask("enter", ["room": .text(room)])
        return HostedRoom(
            id: room, ann: ann, bob: bob, host: host, one: try await run.entered(room, ann),
            two: try await run.entered(room, bob))
    }

    private struct HostedRoom {
        var id: String
        var ann: String
        var bob: String
        var host: ConformanceClient
        var one: ConformanceClient
        var two: ConformanceClient
    }

    static let hostedSeats: [ConformanceCheck] = [
        .init("2 Seats", "a manager names another owner who is here; 317 carries it, and the seat goes with that owner")
        {
            run in
            let it = try await hosted(run)
            let seat = try await it.host.ask("queueSet", seat(it.id, "s", ["owner": .text(it.ann), "ifVersion": 0]))
            try expect(seat["element"]?["owner"], is: .text(it.ann), "owner")
            let offer = try await it.two.notification(317)
            try expect(offer["data"]?["owner"], is: .text(it.ann), "data.owner")
            try expect(offer["data"]?["locked"], is: nil, "data.locked")
            try await it.one.ask("exit", ["room": .text(it.id)])
            let event = try await it.two.notification(320)
            try expect(event["data"]?["change"], is: "PARTCLEAR", "data.change")
        },
        .init("2 Seats", "an owner who is not here is 404, an anonymous one 403") { run in
            let it = try await hosted(run)
            let absent = run.name("absent")
            try expect(
                try await it.host.refusal("queueSet", seat(it.id, "s", ["owner": .text(absent)])), code: 404)
            let anonymous = try await run.open()
            let user = try await anonymous.ask("connect", ["anonymous": true])["user"]
            try await anonymous.ask("enter", ["room": .text(it.id), "nick": "a", "avatar": "b"])
            try expect(
                try await it.host.refusal("queueSet", seat(it.id, "s", ["owner": user ?? .null])), code: 403)
        },
        .init("2 queueSet", "keepOwner leaves what is overwritten to its owner; with owner it is 414") { run in
            let it = try await hosted(run)
            try await it.one.ask("queueSet", seat(it.id, "s"))
            let kept = try await it.host.ask("queueSet", seat(it.id, "s", ["keepOwner": true, "ifVersion": 1]))
            try expect(kept["element"]?["owner"], is: .text(it.ann), "owner")
            try expect(kept["element"]?["version"], is: 2, "version")
            let both: JSONTree = ["keepOwner": true, "owner": .text(it.bob)]
            try expect(try await it.host.refusal("queueSet", seat(it.id, "s", both)), code: 414)
        },
        .init("2 queueSet", "owner, keepOwner and locked are for managers (403)") { run in
            let it = try await hosted(run)
            try await it.one.ask("queueSet", seat(it.id, "s"))
            for more in [
                ["owner": .text(it.bob)], ["owner": .text(it.ann)], ["keepOwner": true], ["locked": true],
                ["locked": false],
            ] as [JSONTree] {
                try expect(try await it.one.refusal("queueSet", seat(it.id, "s", more)), code: 403)
            }
        },
        .init("2 Seats", "a locked element is changed, taken and cleared by managers only (403)") { run in
            let it = try await hosted(run)
            let lock: JSONTree = ["owner": .text(it.ann), "locked": true]
            let locked = try await it.host.ask("queueSet", seat(it.id, "s", lock))
            try expect(locked["element"]?["locked"], is: true, "locked")
            let offer = try await it.two.notification(317)
            try expect(offer["data"]?["locked"], is: true, "data.locked")
            let (room, key): (JSONTree, JSONTree) = (["room": .text(it.id)], ["key": "s"])
            for (operation, fields) in [
                ("queueSet", seat(it.id, "s")), ("queueSet", seat(it.id, "s", ["ifVersion": 1])),
                ("queueSetMany", room.adding(["values": ["s": "w"]])), ("queueTake", room.adding(key)),
                ("queueTake", room), ("queueClear", room),
            ] {
                try expect(try await it.one.refusal(operation, fields), code: 403)
            }
            let edited = try await it.host.ask("queueSet", seat(it.id, "s", ["keepOwner": true]))
            try expect(edited["element"]?["locked"], is: true, "locked after a write that does not say it")
            try await it.host.ask("queueSet", seat(it.id, "s", ["keepOwner": true, "locked": false]))
            try await it.one.ask("queueTake", room.adding(key))
        },
        .init("2 Seats", "seatsPerUser bounds a user's transient elements, whoever writes them (409)") { run in
            let it = try await hosted(run, ["seatsPerUser": 1])
            try expect(
                try await it.one.ask("room", ["room": .text(it.id)])["room"]?["seatsPerUser"], is: 1, "seatsPerUser")
            try await it.one.ask("queueSet", seat(it.id, "a"))
            try expect(try await it.one.refusal("queueSet", seat(it.id, "b")), code: 409)
            let owner: JSONTree = ["owner": .text(it.ann)]
            try expect(try await it.host.refusal("queueSet", seat(it.id, "b", owner)), code: 409)
            let body = (["value": "v", "transient": true] as JSONTree).adding(owner)
            try expect(
                try await run.api("PUT", ["rooms", it.id, "queue", "b"], body).status == 409,
                "the server API gave a second seat")
            try await it.one.ask("queueSet", set(it.id, "song"))
            try expect(try await it.host.refusal("queueSet", seat(it.id, "song", ["keepOwner": true])), code: 409)
            try await it.one.ask("queueSet", seat(it.id, "a"))
            try await it.one.ask("queueTake", ["room": .text(it.id), "key": "a"])
            try await it.host.ask("queueSet", seat(it.id, "b", owner))
        },
        .init("2 Priority", "highPerSecond of a room is 1 to 50, and HIGH holds so often a second") { run in
            let it = try await hosted(run, ["highPerSecond": 2])
            for _ in 1...2 {
                let ack = try await it.host.send(it.id, "t", ["priority": "HIGH"])
                try expect(ack["priority"], is: nil, "the priority of one of the first two")
            }
            for value in [0, 51] {
                try expect(
                    try await run.api("PATCH", ["rooms", it.id], ["highPerSecond": .integer(Int64(value))]).status
                        == 400, "highPerSecond \(value) was taken")
            }
        },
    ]
}
