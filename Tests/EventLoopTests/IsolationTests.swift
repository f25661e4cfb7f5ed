import EventLoop
import Testing

@Suite struct IsolationTests {
    @Test func `a libuv callback enters an actor of the loop with assumeIsolated`() async throws {
        try await withLoop { loop in
            let counter = Counter(loop: loop)
            let onLoop = await withCheckedContinuation { continuation in
                loop.execute {
                    loop.schedule(afterMilliseconds: 0) {
                        // No task runs here: the executor itself answers for the thread.
                        continuation.resume(returning: counter.assumeIsolated { $0.increment() })
                    }
                }
            }
            #expect(onLoop)
            #expect(await counter.count == 1)
        }
    }

    @Test func `assumeIsolated on another thread stops the process`() async {
        let result = await #expect(processExitsWith: .failure) {
            let loop = try EventLoop(name: "isolated")
            loop.start()
            let counter = Counter(loop: loop)
            _ = incrementAssumingIsolation(counter)
        }
        #expect(wasTrapped(result))
    }

    @Test func `a loop knows its own thread and no other`() async throws {
        try await withLoop("left") { left in
            try await withLoop("right") { right in
                #expect(!left.isOnLoop)
                #expect(EventLoop.current == nil)
                #expect(await left.run { left.isOnLoop && !right.isOnLoop && EventLoop.current === left })
                #expect(left.isIsolatingCurrentContext() == false)
                #expect(await right.run { right.isIsolatingCurrentContext() == true })
            }
        }
    }

    @Test func `a loop-bound value is changed on its loop and seen there`() async throws {
        try await withLoop { loop in
            let box = LoopBound([1], loop: loop)
            await loop.run {
                box.value.append(2)
            }
            #expect(await loop.run { box.value } == [1, 2])
        }
    }

    @Test func `a loop-bound value is changed where it lies, not in a copy`() async throws {
        try await withLoop { loop in
            let box = LoopBound([Int](repeating: 0, count: 1_000), loop: loop)
            await loop.run {
                let before = box.value.withUnsafeBufferPointer { $0.baseAddress }
                box.value[0] = 1
                #expect(box.value.withUnsafeBufferPointer { $0.baseAddress } == before)
            }
        }
    }

    @Test func `a loop-bound value boxed on its loop is the shared object`() async throws {
        final class Unshared {
            var number = 0
        }
        try await withLoop { loop in
            let box = await loop.run {
                let object = Unshared()
                let box = LoopBound(onLoop: object, loop: loop)
                object.number = 7
                return box
            }
            #expect(await loop.run { box.value.number } == 7)
        }
    }

    @Test func `reading a loop-bound value elsewhere stops the process`() async {
        let result = await #expect(processExitsWith: .failure) {
            let loop = try EventLoop(name: "bound")
            loop.start()
            _ = LoopBound(1, loop: loop).value
        }
        #expect(wasTrapped(result))
    }

    @Test func `on-loop calls elsewhere stop the process`() async {
        let result = await #expect(processExitsWith: .failure) {
            let loop = try EventLoop(name: "bound")
            loop.start()
            loop.schedule(afterMilliseconds: 1) {}
        }
        #expect(wasTrapped(result))
    }
}
