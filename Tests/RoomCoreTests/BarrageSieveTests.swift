import ChatModel
import Testing

@testable import RoomCore

/// The two levels of barrage sampling against one that sees everything.
@Suite struct BarrageSieveTests {
    private static func session(_ number: Int) -> SessionID {
        guard let session = SessionID("session-\(number)") else { fatalError("a session") }
        return session
    }

    private static func candidate(_ text: String, by number: Int = 0, item: UInt64, _ priority: Priority = .normal)
        -> BarrageCandidate
    {
        var candidate = BarrageCandidate(
            sender: session(number), text: text,
            hash: SampleHash.item(of: SampleHash.sender(session(number)), number: item))
        candidate.priority = priority
        return candidate
    }

    private static func item(_ candidate: BarrageCandidate, at now: Timestamp) -> BarrageItem {
        var item = BarrageItem(from: nil, text: candidate.text, time: now)
        (item.priority, item.count) = (candidate.priority, candidate.count)
        return item
    }

    /// A leader and the sieves of some gateways, by one clock.
    private struct Scene {
        var now: UInt64 = 1_700_000_000_000
        var window: BarrageWindow
        var sieves: [BarrageSieve]
        /// What each session has got: of the samples and of its own.
        var echoed: [SessionID: Int64] = [:]
        var shown: [BarrageItem] = []
        var skipped = 0
        /// How many items each session has sent in the window.
        private var counts: [SessionID: Int] = [:]

        init(gateways: Int, perSecond: Int, highPerSecond: Int = 10) {
            window = BarrageWindow(perSecond: perSecond, highPerSecond: highPerSecond)
            sieves = (0..<gateways).map { _ in BarrageSieve(perSecond: perSecond, highPerSecond: highPerSecond) }
        }

        var time: Timestamp { Timestamp(Int64(now)) }

        /// - Returns: the hash by which the item is ranked.
        @discardableResult
        mutating func send(_ candidate: BarrageCandidate, at gateway: Int) -> UInt64 {
            let count = counts[candidate.sender, default: 0]
            counts[candidate.sender] = count + 1
            let hash = BarrageRank.hash(candidate.hash, after: count)
            if sieves[gateway].passes(from: candidate.sender, at: now) {
                window.add(item(candidate, at: time), hash: hash, part: BarrageWindow.Part(window: 0, candidate: -1))
            } else {
                sieves[gateway].hold(candidate)
            }
            return hash
        }

        /// Ends a window of all gateways, then the leader's. What passed at once was added as a part of no window.
        mutating func end(losing lost: Set<Int> = []) -> BarrageWindow.Sample {
            now += 100
            counts = [:]
            var sources: [(gateway: Int, window: UInt64)] = [(-1, 0)]
            for index in sieves.indices where !sieves[index].isEmpty {
                let closed = sieves[index].close(at: now)
                guard !lost.contains(index) else { continue }
                for (number, candidate) in closed.candidates.enumerated() {
                    window.add(
                        item(candidate, at: time), hash: candidate.hash,
                        part: BarrageWindow.Part(window: sources.count, candidate: number))
                }
                window.leaveOut(closed.leftOut)
                sources.append((index, closed.number))
            }
            let sample = window.take(at: time)
            for (source, (gateway, number)) in sources.enumerated() where gateway >= 0 {
                let parts = sample.shown.filter { $0.window == source }.map { UInt32(clamping: $0.candidate) }
                for echo in sieves[gateway].settle(number, shown: parts) {
                    echoed[echo.sender, default: 0] += echo.count
                }
            }
            shown += sample.items
            skipped += sample.skipped
            return sample
        }

        private func item(_ candidate: BarrageCandidate, at now: Timestamp) -> BarrageItem {
            BarrageSieveTests.item(candidate, at: now)
        }
    }

    @Test func `what a room can show goes on at once, and a crowd is sifted until it has gone`() {
        var sieve = BarrageSieve(perSecond: 20, highPerSecond: 10)
        func passes(_ now: UInt64) -> Bool { sieve.passes(from: Self.session(1), at: now) }
        for number in 0..<10 { #expect(passes(1000), "\(number)") }
        #expect(!passes(1099), "more than a window of the room can show")
        sieve.hold(Self.candidate("held", item: 1))
        #expect(!passes(1150), "what is held goes first")
        let window = sieve.close(at: 1150)
        #expect(window.number == 1 && window.candidates.map(\.text) == ["held"] && window.leftOut == 0)
        #expect(!passes(1160), "the window before was crowded")
        #expect(passes(1250), "nothing came in a whole window")
    }

    @Test func `what is left out, and what is not picked of the rest, comes back to its senders`() throws {
        var sieve = BarrageSieve(perSecond: 4, highPerSecond: 10)
        for number in 0..<6 { sieve.hold(Self.candidate("\(number)", by: number, item: 1)) }
        let window = sieve.close(at: 0)
        #expect(window.candidates.count == 2 && window.leftOut == 4)
        let echoes = sieve.settle(window.number, shown: [1])
        #expect(echoes.count == 5 && !echoes.map(\.text).contains(window.candidates[1].text))
        let again = sieve.settle(window.number, shown: [1])
        #expect(again.isEmpty)
    }

    @Test func `HIGH ones are no more than a second may have, and take no place from others`() {
        var sieve = BarrageSieve(perSecond: 4, highPerSecond: 3)
        for number in 0..<5 { sieve.hold(Self.candidate("high \(number)", item: UInt64(number), .high)) }
        for number in 0..<5 { sieve.hold(Self.candidate("low \(number)", item: UInt64(number), .low)) }
        let window = sieve.close(at: 0)
        #expect(window.candidates.map(\.text) == (0..<5).map { "high \($0)" })
        #expect(window.candidates.map(\.priority) == [.high, .high, .high, .normal, .normal] && window.leftOut == 5)
    }

    @Test func `a flood takes places only when there are too few others for them`() {
        var sieve = BarrageSieve(perSecond: 40, highPerSecond: 3)
        for number in 0..<500 { sieve.hold(Self.candidate("flood \(number)", by: 0, item: UInt64(number))) }
        for sender in 1...15 { sieve.hold(Self.candidate("\(sender)", by: sender, item: 1)) }
        let window = sieve.close(at: 0)
        #expect(Set(window.candidates.map(\.text)).isSuperset(of: (1...15).map { "\($0)" }))
        #expect(window.candidates.count == 20 && window.leftOut == 495)
        // The next window counts anew.
        for sender in 0..<20 { sieve.hold(Self.candidate("\(sender)", by: sender, item: 2)) }
        #expect(sieve.close(at: 100).candidates.count == 20)
    }

    @Test func `equal items are one, of the first sender with the highest priority; other fields make others`() {
        var sieve = BarrageSieve(perSecond: 40, highPerSecond: 3)
        func hold(_ sender: Int, _ ext: String?, _ priority: Priority = .normal) {
            var candidate = Self.candidate("sale", by: sender, item: 1, priority)
            candidate.ext = ext
            sieve.hold(candidate)
        }
        hold(1, "a", .low)
        hold(2, "b")
        hold(3, "a")
        hold(4, "a", .high)
        hold(5, "a", .high)
        hold(6, nil)
        let window = sieve.close(at: 0)
        #expect(window.candidates.map(\.ext) == ["a", "b", nil] && window.candidates.map(\.count) == [4, 1, 1])
        #expect(window.candidates.map(\.sender) == [4, 2, 6].map { Self.session($0) })
        #expect(window.candidates.map(\.priority) == [.high, .normal, .normal])
    }

    @Test func `what a leader never answered is counted by the next one`() {
        var sieve = BarrageSieve(perSecond: 4, highPerSecond: 3)
        for number in 0..<6 { sieve.hold(Self.candidate("\(number)", item: UInt64(number))) }
        _ = sieve.close(at: 0)
        #expect(sieve.isEmpty && sieve.isWaiting)
        sieve.loseOpen()
        #expect(!sieve.isEmpty)
        let window = sieve.close(at: 100)
        #expect(window.candidates.isEmpty && window.leftOut == 6)
        let echoes = sieve.settle(window.number, shown: [])
        #expect(echoes.count == 6)
        #expect(!sieve.isWaiting)
    }

    @Test func `a window that its leader does not answer in time is counted with the next`() {
        var sieve = BarrageSieve(perSecond: 4, highPerSecond: 3)
        for number in 0..<6 { sieve.hold(Self.candidate("\(number)", item: UInt64(number))) }
        let first = sieve.close(at: 0)
        sieve.loseOverdue(at: BarrageSieve.answerMilliseconds - 1)
        #expect(sieve.isWaiting && sieve.isEmpty)
        sieve.loseOverdue(at: BarrageSieve.answerMilliseconds)
        #expect(!sieve.isWaiting && !sieve.isEmpty)
        let late = sieve.settle(first.number, shown: [0])
        #expect(late.isEmpty, "nobody waits for it any more")
        let window = sieve.close(at: 5_000)
        #expect(window.leftOut == 6)
        let echoes = sieve.settle(window.number, shown: [])
        #expect(echoes.count == 6)
    }

    @Test func `while nobody answers, what has no room is shown to its senders and still counted`() {
        var sieve = BarrageSieve(perSecond: 4, highPerSecond: 3)
        var echoed = 0
        let sent = 3 * BarrageSieve.itemsMax
        for number in 0..<sent {
            sieve.hold(Self.candidate("\(number)", item: UInt64(number)))
            echoed += sieve.takeOverflow().count
        }
        #expect(echoed > 0 && echoed <= sent)
        let window = sieve.close(at: 0)
        #expect(window.leftOut + Int64(window.candidates.count) == Int64(sent))
        let late = sieve.settle(window.number, shown: [])
        #expect(late.count == sent - echoed)
    }

    @Test(arguments: Seed.seeds(20))
    func `the sample is the one that a leader would pick who saw everything`(seed: UInt64) {
        var random = Seed(seed)
        let comment: Comment = "SEED=\(seed)"
        let perSecond = Int.random(in: 1...60, using: &random)
        var scene = Scene(gateways: Int.random(in: 1...4, using: &random), perSecond: perSecond)
        var naive = BarrageWindow(perSecond: perSecond, highPerSecond: 10)
        var perWindow: [Int] = []
        for round in 0..<30 {
            var high = 0
            for number in 0..<Int.random(in: 0...200, using: &random) {
                var priority = Priority.allCases.randomElement(using: &random) ?? .low
                // Which HIGH ones of too many hold depends on who comes first.
                if priority == .high {
                    high += 1
                    if high > 1 || round % 10 != 0 { priority = .normal }
                }
                let session = Int.random(in: 0..<50, using: &random)
                let candidate = Self.candidate(
                    "\(Int.random(in: 0..<150, using: &random))", by: session, item: UInt64(round * 1000 + number),
                    priority)
                let hash = scene.send(candidate, at: session % scene.sieves.count)
                naive.add(
                    Self.item(candidate, at: scene.time), hash: hash,
                    part: BarrageWindow.Part(window: 0, candidate: 0))
            }
            let sample = scene.end()
            let wanted = naive.take(at: scene.time)
            #expect(Set(sample.items.map(\.text)) == Set(wanted.items.map(\.text)), comment)
            let total = { (sample: BarrageWindow.Sample) in
                sample.items.reduce(0) { $0 + $1.count } + Int64(sample.skipped)
            }
            #expect(total(sample) == total(wanted), comment)
            perWindow.append(sample.items.count)
        }
        for start in 0...20 { #expect(perWindow[start..<(start + 10)].reduce(0, +) <= perSecond, comment) }
    }

    @Test(arguments: Seed.seeds(20))
    func `shown and skipped are what was sent, and each sender gets its own, whatever windows are lost`(seed: UInt64) {
        var random = Seed(seed)
        let comment: Comment = "SEED=\(seed)"
        var scene = Scene(gateways: 3, perSecond: Int.random(in: 1...40, using: &random))
        var sent: Int64 = 0
        var held: [SessionID: Int64] = [:]
        for round in 0..<40 {
            for number in 0..<Int.random(in: 0...60, using: &random) {
                let gateway = Int.random(in: 0..<3, using: &random)
                // Texts of their own, so that what is shown of a session's can be told.
                let candidate = Self.candidate(
                    "\(round) \(number)", by: gateway * 10 + Int.random(in: 0..<10, using: &random),
                    item: UInt64(round * 1000 + number))
                if scene.sieves[gateway].passes(from: candidate.sender, at: scene.now) { continue }
                scene.sieves[gateway].hold(candidate)
                sent += 1
                held[candidate.sender, default: 0] += 1
            }
            _ = scene.end(losing: Bool.random(using: &random) ? [] : [Int.random(in: 0..<3, using: &random)])
        }
        for index in scene.sieves.indices { scene.sieves[index].loseOpen() }
        _ = scene.end()
        #expect(scene.shown.reduce(0) { $0 + $1.count } + Int64(scene.skipped) == sent, comment)
        #expect(
            held.values.reduce(0, +) == scene.echoed.values.reduce(0, +) + Int64(scene.shown.count), comment)
    }

    @Test func `no sender, gateway or place in the window is preferred`() {
        var scene = Scene(gateways: 2, perSecond: 20)
        var bySender = [Int](repeating: 0, count: 20)
        for round in 0..<600 {
            // The second gateway has three times the senders of the first, and they always come in the same order.
            for sender in 0..<20 {
                let candidate = Self.candidate("\(round) \(sender)", by: sender, item: UInt64(round))
                scene.send(candidate, at: sender < 5 ? 0 : 1)
            }
            for item in scene.end().items {
                if let sender = item.text.split(separator: " ").last.flatMap({ Int($0) }) { bySender[sender] += 1 }
            }
        }
        let mean = Double(bySender.reduce(0, +)) / 20
        #expect(mean > 30, "\(bySender)")
        for share in bySender { #expect(abs(Double(share) - mean) < 6 * mean.squareRoot(), "\(bySender)") }
    }
}
