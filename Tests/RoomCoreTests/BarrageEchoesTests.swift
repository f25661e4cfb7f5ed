import ChatModel
import Testing

@testable import RoomCore

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

@Suite(.serialized) struct BarrageEchoesTests {
    private static let now = Timestamp(1_700_000_000_000)

    private static func item(_ text: String) -> BarrageItem { BarrageItem(from: nil, text: text, time: now) }

    /// Texts that are alike but for their last mark: what Unicode calls canonical equivalence looks at all of it.
    private static func hostile(_ number: Int) -> String {
        let marks = "\u{323}\u{301}\u{327}\u{302}\u{316}\u{308}"
        return "a" + String(repeating: marks, count: 18) + "\(number)"
    }

    @Test func `equal texts are one echo, and texts of other bytes are others`() {
        var echoes = BarrageEchoes()
        for text in ["e\u{301}", "\u{E9}", "e\u{301}"] { echoes.add(Self.item(text)) }
        #expect(echoes.items.map { Array($0.text.utf8) } == [Array("e\u{301}".utf8), Array("\u{E9}".utf8)])
        #expect(echoes.items.map(\.count) == [2, 1])
    }

    @Test func `a session has as many echoes a window as a frame has requests, and 128 KB`() {
        var echoes = BarrageEchoes()
        let taken = (0..<2000).filter { echoes.add(Self.item(Self.hostile($0))) }
        #expect(taken == Array(0..<BarrageEchoes.itemsMax) && echoes.items.count == BarrageEchoes.itemsMax)
        let again = echoes.add(Self.item(Self.hostile(7)))
        #expect(again, "one more of a text that it has needs no room")
        #expect(echoes.items[7].count == 2)
        var large = BarrageEchoes()
        let text = String(repeating: "x", count: 5000)
        for number in 0..<100 { large.add(Self.item(text + "\(number)")) }
        #expect(large.items.count == 26)
    }

    @Test func `what comes with each item counts, so short texts of a large profile are few`() throws {
        var echoes = BarrageEchoes()
        var window = BarrageWindow(perSecond: 1, highPerSecond: 0)
        let key = try #require(PresenceKey.robot(user("ann")))
        let profile = Profile(nick: "n", avatar: "a", ext: String(repeating: "e", count: 4094))
        for number in 0..<BarrageEchoes.itemsMax {
            let from = Sender(user: user("ann"), profile: profile, role: .guest)
            let item = BarrageItem(from: from, text: "\(number)", time: Self.now)
            echoes.add(item)
            window.add(item, from: key)
        }
        let most = BarrageEchoes.bytesMax / 4096
        #expect(echoes.items.count <= most && echoes.items.count >= most - 1)
        #expect(window.take(at: Self.now).echoes.count <= most)
    }

    @Test func `a leader echoes so many texts of a session, and counts the others as skipped`() throws {
        var window = BarrageWindow(perSecond: 2, highPerSecond: 0)
        let key = try #require(PresenceKey.robot(user("ann")))
        for number in 0..<5000 { window.add(Self.item("\(number)"), from: key) }
        let sample = window.take(at: Self.now)
        #expect(((BarrageEchoes.itemsMax - 1)...BarrageEchoes.itemsMax).contains(sample.echoes.count))
        #expect(sample.skipped == 5000 - sample.items.count)
        for number in 0..<50 { window.add(Self.item("\(number)"), from: key) }
        #expect(window.take(at: Self.now).echoes.count >= 49, "the next window has echoes of its own")
    }

    /// Sixteen times the texts cost sixteen times as much; a search in a list would cost 256 times.
    @Test func `the cost of a frame of combining marks grows with its texts, not with their square`() throws {
        let session = try #require(SessionID("s"))
        func cost(_ count: Int) -> Double {
            let texts = (0..<count).map(Self.hostile)
            return (0..<3).map { _ in
                let start = Self.cpuSeconds()
                var sieve = BarrageSieve(perSecond: 200, highPerSecond: 10)
                for (number, text) in texts.enumerated() {
                    sieve.hold(BarrageCandidate(sender: session, text: text, hash: UInt64(number)))
                }
                let window = sieve.close(at: 0)
                var echoes = BarrageEchoes()
                for echo in sieve.settle(window.number, shown: []) { echoes.add(Self.item(echo.text)) }
                var leader = BarrageWindow(perSecond: 200, highPerSecond: 10)
                for text in texts { leader.add(Self.item(text), from: PresenceKey.robot(user("ann"))) }
                _ = leader.take(at: Self.now)
                return Self.cpuSeconds() - start
            }.min() ?? 0
        }
        let (small, large) = (cost(125), cost(2000))
        #expect(large < 64 * max(small, 1e-4), "\(small) s and \(large) s")
    }

    private static func cpuSeconds() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
