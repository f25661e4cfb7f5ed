import ChatModel
import Testing

@testable import RoomCore

@Suite struct BarrageWindowTests {
    private static func key(_ name: String) -> PresenceKey {
        guard let key = PresenceKey.robot(user(name)) else { fatalError("a key") }
        return key
    }

    private struct Scene {
        var window: BarrageWindow
        var now = Timestamp(1_700_000_000_000)

        init(perSecond: Int = 200, highPerSecond: Int = 10) {
            window = BarrageWindow(perSecond: perSecond, highPerSecond: highPerSecond)
        }

        mutating func say(
            _ text: String, _ priority: Priority = .normal, by name: String? = "ann", ext: String? = nil
        ) {
            var item = BarrageItem(
                from: name.map { Sender(user: user($0), profile: Profile(nick: $0), role: .guest) }, text: text,
                time: now)
            (item.priority, item.ext) = (priority, ext)
            window.add(item, from: name.map(key))
        }

        mutating func take(after milliseconds: Int64 = 100) -> BarrageWindow.Sample {
            now = now.adding(milliseconds: milliseconds)
            return window.take(at: now)
        }
    }

    @Test func `an empty window shows nothing`() {
        var scene = Scene()
        #expect(scene.window.isEmpty)
        #expect(scene.take() == BarrageWindow.Sample())
    }

    @Test func `what fits is shown in the order in which it came`() {
        var scene = Scene()
        for number in 1...100 { scene.say("\(number)") }
        let sample = scene.take()
        #expect(sample.items.map(\.text) == (1...100).map(String.init))
        #expect(sample.skipped == 0 && sample.echoes.isEmpty)
    }

    @Test func `one more than a window's half of the second is skipped and comes back to its sender`() throws {
        var scene = Scene()
        for number in 1...101 { scene.say("\(number)", by: "u\(number)") }
        let sample = scene.take()
        #expect(sample.items.count == 100 && sample.skipped == 1)
        let echo = try #require(sample.echoes.first)
        #expect(sample.echoes.count == 1 && !sample.items.map(\.text).contains(echo.item.text))
        #expect(echo.sender == Self.key("u\(echo.item.text)"))
    }

    @Test func `no second shows more than the budget, and a full load shows all of it but what is kept for HIGH`() {
        var scene = Scene()
        var shown: [Int] = []
        for window in 0..<50 {
            for number in 0..<300 { scene.say("\(window) \(number)") }
            shown.append(scene.take().items.count)
        }
        for start in 0...40 { #expect(shown[start..<(start + 10)].reduce(0, +) <= 200) }
        #expect(shown.suffix(20).reduce(0, +) >= 350, "\(shown)")
    }

    @Test func `whenever HIGH comes in a second, a crowd of others has not taken its place`() {
        for late in 0..<30 {
            var scene = Scene()
            var high: [Int] = []
            for window in 0..<30 {
                for number in 0..<300 { scene.say("\(window) \(number)", .low) }
                if window == late {
                    for number in 0..<10 { scene.say("high \(number)", .high) }
                    for number in 0..<10 { scene.say("server's \(number)", .high, by: nil) }
                }
                high.append(scene.take().items.count { $0.priority == .high })
            }
            #expect(high[late] == 20, "in window \(late)")
        }
    }

    @Test func `a quiet second gives the whole budget back`() {
        var scene = Scene()
        for number in 0..<300 { scene.say("\(number)") }
        #expect(scene.take().items.count == 100)
        for number in 0..<300 { scene.say("\(number)") }
        #expect(scene.take(after: 1000).items.count == 100)
    }

    @Test func `HIGH is picked before NORMAL and NORMAL before LOW`() {
        var scene = Scene(perSecond: 20)
        for number in 0..<5 { scene.say("low \(number)", .low) }
        for number in 0..<5 { scene.say("normal \(number)", .normal) }
        for number in 0..<8 { scene.say("high \(number)", .high) }
        let sample = scene.take()
        #expect(sample.items.count == 10)
        #expect(sample.items.count { $0.priority == .high } == 8)
        #expect(sample.items.count { $0.priority == .normal } == 2)
        #expect(sample.skipped == 8)
    }

    @Test func `the eleventh HIGH of a second counts as NORMAL`() {
        var scene = Scene()
        for number in 0..<11 { scene.say("\(number)", .high) }
        #expect(scene.take(after: 999).items.map(\.priority) == [Priority](repeating: .high, count: 10) + [.normal])
        scene.say("soon", .high)
        #expect(scene.take(after: 1).items.map(\.priority) == [.normal])
        scene.say("later", .high)
        #expect(scene.take().items.map(\.priority) == [.high])
    }

    @Test func `equal texts become one item with a count and the highest of their priorities`() {
        var scene = Scene()
        scene.say("666", .low, by: "ann")
        scene.say("666", .high, by: "bob")
        scene.say("666", .low, by: "cid")
        scene.say("66")
        let sample = scene.take()
        #expect(sample.items.map(\.text) == ["666", "66"] && sample.items.map(\.count) == [3, 1])
        #expect(sample.items.map(\.priority) == [.high, .normal])
        #expect(sample.items.first?.from?.user == user("bob"), "nobody takes its place with an equal one")
        scene.say("666")
        #expect(scene.take().items.map(\.count) == [1], "the next window counts anew")
    }

    @Test func `items with other fields are others`() {
        var scene = Scene()
        for ext in ["rose", "rocket", nil, "rose"] { scene.say("gift", by: "ann", ext: ext) }
        let sample = scene.take()
        #expect(sample.items.map(\.ext) == ["rose", "rocket", nil] && sample.items.map(\.count) == [2, 1, 1])
    }

    @Test func `one that had its item shown by a higher priority of another gets its own when it is not picked`() {
        var scene = Scene(perSecond: 2)
        for number in 0..<2 { scene.say("high \(number)", .high, by: nil) }
        scene.say("same", .low, by: "ann")
        scene.say("same", .normal, by: "bob")
        scene.say("same", .low, by: "ann")
        let sample = scene.take()
        #expect(sample.items.allSatisfy { $0.text != "same" })
        let own = sample.echoes.sorted { $0.item.count > $1.item.count }.map(\.item)
        #expect(own.map { $0.from?.user.text } == ["ann", "bob"] && own.map(\.count) == [2, 1])
        #expect(own.map(\.priority) == [.low, .normal])
    }

    @Test func `a flood takes places only when there are too few others for them`() {
        var scene = Scene(perSecond: 40)
        for number in 0..<500 { scene.say("flood \(number)", by: "ann") }
        for sender in 0..<15 { scene.say("\(sender)", by: "u\(sender)") }
        let sample = scene.take()
        #expect(Set(sample.items.map(\.text)).isSuperset(of: (0..<15).map { "\($0)" }))
        #expect(sample.items.count == 20)
    }

    @Test func `who sent a text that was not picked gets its own, with its own count`() {
        var scene = Scene(perSecond: 2)
        scene.say("high", .high, by: "ann")
        for name in ["ann", "bob", "bob"] { scene.say("same", by: name) }
        scene.say("same", by: nil)
        let sample = scene.take()
        #expect(sample.items.map(\.text) == ["high"] && sample.skipped == 4)
        #expect(Set(sample.echoes.map(\.sender)) == [Self.key("ann"), Self.key("bob")])
        for echo in sample.echoes {
            #expect(Self.key(echo.item.from?.user.text ?? "") == echo.sender)
            #expect(echo.item.count == (echo.sender == Self.key("bob") ? 2 : 1))
        }
    }

    @Test func `more texts than a window holds are skipped and echoed`() {
        var scene = Scene(perSecond: 100_000)
        for number in 0..<BarrageWindow.itemsMax { scene.say("\(number)", by: nil) }
        scene.say("one more")
        scene.say("another", by: nil)
        scene.say("7")
        let sample = scene.take()
        #expect(sample.items.count == BarrageWindow.itemsMax && sample.skipped == 2)
        #expect(sample.echoes.map(\.item.text) == ["one more"])
    }

    @Test func `no sender is preferred`() {
        var scene = Scene(perSecond: 20)
        var shares = [Int](repeating: 0, count: 10)
        for window in 0..<400 {
            for sender in 0..<10 { scene.say("\(window) \(sender)", by: "u\(sender)") }
            for item in scene.take().items {
                guard let name = item.from?.user.text, let number = Int(name.dropFirst()) else { continue }
                shares[number] += 1
            }
        }
        // Two of ten are shown in each window.
        for share in shares { #expect((40...140).contains(share), "\(shares)") }
    }

    @Test(arguments: Seed.seeds(20))
    func `whatever was sent is shown, echoed or counted as skipped`(seed: UInt64) {
        var random = Seed(seed)
        var scene = Scene(perSecond: Int.random(in: 1...50, using: &random))
        let comment: Comment = "SEED=\(seed)"
        for _ in 0..<60 {
            var sent: [String: Int64] = [:]
            var bySender: [PresenceKey: Int64] = [:]
            for _ in 0..<Int.random(in: 0...40, using: &random) {
                let text = "\(Int.random(in: 0..<30, using: &random))"
                let name = Bool.random(using: &random) ? "u\(Int.random(in: 0..<5, using: &random))" : nil
                scene.say(text, Priority.allCases.randomElement(using: &random) ?? .low, by: name)
                sent[text, default: 0] += 1
                if let name { bySender[Self.key(name), default: 0] += 1 }
            }
            let sample = scene.take()
            #expect(Set(sample.items.map(\.text)).count == sample.items.count, comment)
            for item in sample.items { #expect(item.count == sent[item.text], comment) }
            let shown = sample.items.reduce(0) { $0 + $1.count }
            #expect(shown + Int64(sample.skipped) == sent.values.reduce(0, +), comment)
            let hidden = sample.echoes.reduce(into: [PresenceKey: Int64]()) {
                $0[$1.sender, default: 0] += $1.item.count
            }
            for (sender, count) in hidden { #expect(count <= bySender[sender] ?? 0, comment) }
            #expect(sample.echoes.allSatisfy { sent[$0.item.text] != nil }, comment)
        }
    }
}
