import ControlClient

/// The pushes to a client that takes less than it is sent (PROTOCOL.md, "Losses").
extension ConformanceCheck {
    /// Sends messages of 32 KB to a room until the node holds this user's session for slow, and some more.
    private static func overwhelm(
        _ run: ConformanceRun, _ user: String, in room: String, _ more: JSONTree = [:]
    ) async throws {
        let body: JSONTree = ["type": "TEXT", "text": .text(String(repeating: "x", count: 32_000))]
        // The kernel takes some megabytes before anything waits in the node for good: for a moment something may earlier.
        var looks = 0
        for _ in 1...60 {
            for _ in 1...20 { try await run.done("POST", ["rooms", room, "messages"], body.adding(more)) }
            let slow = try await run.done("GET", ["sessions"], query: [("slow", "true"), ("limit", "100")])
            guard let session = slow["sessions"]?.items.first(where: { $0["user"]?.text == user }) else {
                looks = 0
                continue
            }
            try expect(session["slow"], is: true, "slow of a session in sessions?slow=true")
            looks += 1
            if looks == 4 { return }
        }
        throw Deviation("sessions?slow=true does not show a session that has taken nothing of 1,200 messages of 32 KB")
    }

    static let slowClients: [ConformanceCheck] = [
        .init(
            "2", "a slow session gets gap (SLOW): with what it received, no seq is missing; sessions?slow= shows it",
            pace: .waiting
        ) { run in
            let (user, room) = (run.name("slow"), try await run.room())
            let client = try await run.connected(user)
            let first = try await client.ask("enter", ["room": .text(room)])["seq"]?.integer ?? 0
            await client.pauseReading()
            try await overwhelm(run, user, in: room)
            let last =
                try await run.done(
                    "POST", ["rooms", room, "messages"], ["type": "TEXT", "text": "the last one"])["seq"]?.integer ?? 0
            await client.resumeReading()
            let gap = try await client.push("gap")
            try expect(gap["cause"], is: "SLOW", "the cause")
            try expect(gap["room"], is: .text(room), "the room")
            var known: Set<Int64> = []
            let deadline = ContinuousClock.now + ConformanceClient.waitLimit
            while ContinuousClock.now < deadline {
                known = Set(await client.pushes("message").compactMap { $0["seq"]?.integer })
                for range in await client.pushes("gap").flatMap({ $0["ranges"]?.items ?? [] }) {
                    guard let from = range.items.first?.integer, let to = range.items.last?.integer, from <= to else {
                        throw Deviation("a range is \(range.line)")
                    }
                    known.formUnion(from...to)
                }
                if known.isSuperset(of: (first + 1)...last) { return }
                try await Task.sleep(for: .milliseconds(50))
            }
            let missing = ((first + 1)...last).filter { !known.contains($0) }
            throw Deviation("\(missing.count) seqs were neither shown nor in a gap: \(missing.prefix(5))")
        },
        .init("2", "unkept messages that a slow session was spared are counted in skipped", pace: .waiting) { run in
            let (user, room) = (run.name("slow"), try await run.room(["enterExitNotify": "NONE"]))
            let client = try await run.entered(room, user)
            await client.pauseReading()
            try await overwhelm(run, user, in: room, ["history": false])
            // More than one round may have been sent; the answer of the server API does not count them.
            await client.resumeReading()
            let skipped = try await client.push("skipped")
            try expect(skipped["room"], is: .text(room), "the room")
            try expect((skipped["unkept"]?.integer ?? 0) > 0, "skipped is \(skipped.line)")
            try expect(await client.pushes("gap").isEmpty, "there is a gap, though nothing was kept")
        },
    ]
}
