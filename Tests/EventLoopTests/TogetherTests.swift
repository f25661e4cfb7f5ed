import EventLoop
import Testing

@Suite struct TogetherTests {
    /// Each loop gives the other work at the end of each turn and a thousand times a second, until it has ended.
    @Test func `loops that give each other work end together, however they are interrupted`() async throws {
        for _ in 0..<200 {
            let loops = [try EventLoop(name: "one"), try EventLoop(name: "two")]
            for loop in loops { loop.start() }
            for (loop, other) in zip(loops, loops.reversed()) {
                await loop.run {
                    loop.every(milliseconds: 1) { other.execute {} }
                    loop.addTurnEnd(.publish) { other.execute {} }
                }
            }
            await EventLoop.shutdown(loops)
        }
    }
}
