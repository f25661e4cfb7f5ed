import ControlClient

/// Which of many barrage items a viewer gets (PROTOCOL.md, "Rates").
extension ConformanceCheck {
    static let barrageSamples: [ConformanceCheck] = [
        .init("2 Barrage", "the sample is the same for all who have sent nothing", pace: .waiting) { run in
            let room = try await run.room(["enterExitNotify": "NONE"])
            var viewers: [ConformanceClient] = []
            for place in 0..<3 {
                let viewer = try await run.connected(run.name("v\(place)"), node: place % run.nodes.count)
                try await viewer.ask("enter", ["room": .text(room)])
                viewers.append(viewer)
            }
            for number in 1...4 {
                let sender = try await run.entered(room, run.name("s\(number)"))
                let lines = (1...250).map {
                    JSONTree.object(["barrage": ["room": .text(room), "text": .text("b\(number)-\($0)")]]).line
                }
                await sender.write(text: lines.joined(separator: "\n"))
            }
            var samples: [Set<String>] = []
            for viewer in viewers {
                let deadline = ContinuousClock.now + ConformanceClient.waitLimit
                var (shown, told) = ([String](), Int64(0))
                repeat {
                    try await Task.sleep(for: .milliseconds(50))
                    shown = await viewer.pushes("barrage").flatMap { $0["items"]?.items ?? [] }
                        .compactMap { $0["text"]?.text }
                    told = await viewer.pushes("skipped").reduce(0) { $0 + ($1["barrage"]?.integer ?? 0) }
                } while Int64(shown.count) + told < 1000 && ContinuousClock.now < deadline
                try expect(Int64(shown.count) + told == 1000, "\(shown.count) shown and \(told) skipped are not 1,000")
                samples.append(Set(shown))
            }
            let all = samples.dropFirst().allSatisfy { $0 == samples[0] }
            try expect(all, "three viewers saw \(samples.map(\.count)) items, which are not the same")
        },
        .init(
            "2 Barrage", "a viewer gets at most 200 items a second, HIGH before LOW, and its own always", pace: .waiting
        ) {
            run in
            let (creator, user) = (run.name("creator"), run.name("ann"))
            let room = try await run.room(creator: creator)
            let (owner, viewer) = (try await run.entered(room, creator), try await run.entered(room, user))
            var guests: [ConformanceClient] = []
            for number in 1...6 { guests.append(try await run.entered(room, run.name("s\(number)"))) }
            func frame(_ name: String, _ count: Int, _ priority: JSONTree) -> String {
                (1...count).map {
                    let text = JSONTree.text("\(name)-\($0)")
                    return JSONTree.object(["barrage": ["room": .text(room), "text": text, "priority": priority]]).line
                }.joined(separator: "\n")
            }
            let began = ContinuousClock.now
            for (number, guest) in guests.enumerated() { await guest.write(text: frame("low\(number)", 250, "LOW")) }
            await owner.write(text: frame("high", 10, "HIGH"))
            await viewer.write(text: frame("own", 40, "LOW"))
            @Sendable func items(_ client: ConformanceClient) async -> [JSONTree] {
                await client.pushes("barrage").flatMap { $0["items"]?.items ?? [] }
            }
            func told() async -> Int64 {
                let shown = await items(viewer).reduce(Int64(0)) { $0 + ($1["count"]?.integer ?? 1) }
                return await viewer.pushes("skipped").reduce(shown) { $0 + ($1["barrage"]?.integer ?? 0) }
            }
            let deadline = ContinuousClock.now + ConformanceClient.waitLimit
            while await told() < 1550, ContinuousClock.now < deadline { try await Task.sleep(for: .milliseconds(50)) }
            let seconds = (ContinuousClock.now - began) / .seconds(1)
            let (sum, shown) = (await told(), await items(viewer))
            try expect(sum == 1550, "\(sum) of 1550 were shown or told as skipped")
            func count(_ name: String) -> Int { shown.count { $0["text"]?.text?.hasPrefix(name + "-") == true } }
            try expect(count("own") == 40, "the viewer has seen \(count("own")) of its own 40")
            try expect(count("high") == 10, "\(count("high")) of 10 HIGH were shown")
            let others = shown.count - count("own")
            // A second that has begun, and one that has not ended.
            try expect(Double(others) <= 200 * (seconds + 2), "\(others) of others were shown in \(seconds) s")
            try expect(others < 1510, "nothing was left out")
        },
    ]
}
