import ChatModel
import RoomProtocol
import Testing

/// The taps of a lane until their room has counted them.
@Suite struct TapWindowsTests {
    private var windows = TapWindows(life: 9, of: Incarnation(4))
    private let room: RoomID
    private let session: SessionID

    init() throws {
        room = try #require(RoomID("r"))
        session = try #require(SessionID("s"))
    }

    /// `#require` takes no call that changes its value, so the call is made before.
    private func some<Value>(_ value: Value?) throws -> Value { try #require(value) }

    private mutating func add(_ count: Int64, _ key: String = "like", request: UInt32? = nil, at now: UInt64 = 0)
        -> Bool
    {
        windows.add(count, to: key, waiter: request.map { (session, $0) }, at: now)
    }

    @Test mutating func `taps of a window are one sum for each key`() throws {
        #expect(windows.isIdle && windows.close(as: 1, at: 0) == nil)
        for count in [1, 50, 49] as [Int64] { #expect(add(count)) }
        #expect(add(2, "a"))
        let batch = try some(windows.close(as: 1, at: 0))
        #expect(batch.life == 9 && batch.window == 1 && batch.incarnation == Incarnation(4))
        #expect(batch.sums == [TallyCount(key: "a", count: 2), TallyCount(key: "like", count: 100)])
        #expect(windows.isSending && !windows.isIdle)
    }

    @Test mutating func `one window is on its way at a time, and is sent again as it was`() throws {
        #expect(add(1))
        let first = try some(windows.close(as: 1, at: 0))
        #expect(add(2, at: 10))
        #expect(windows.close(as: 2, at: 20) == nil)
        #expect(windows.sendAgain(isOverdue: false, at: 30) == first, "to another leader")
        #expect(windows.sendAgain(isOverdue: true, at: 4_000) == nil, "it has been sent lately")
        #expect(windows.sendAgain(isOverdue: true, at: 4_030) == first)
        let settled = try some(windows.settle(1, .success([1]), in: room))
        #expect(settled.counted == 1 && settled.refused == 0)
        #expect(windows.settle(1, .success([1]), in: room) == nil, "the answer to its repeat")
        #expect(windows.close(as: 3, at: 40)?.sums == [TallyCount(key: "like", count: 2)])
    }

    @Test mutating func `those who wait get the total after their window, or why there is none`() throws {
        #expect(add(1, request: 1) && add(5, request: 2) && add(1, "gone", request: 3) && add(1, "closed", request: 4))
        #expect(windows.waiterCount == 4)
        _ = windows.close(as: 1, at: 0)
        #expect(add(1, request: 5), "of the next")
        // In the order of keys: closed, gone, like.
        let settled = try some(windows.settle(1, .success([-409, -404, 106]), in: room))
        var totals: [UInt32: Int64] = [:]
        var codes: [UInt32: ErrorCode] = [:]
        for answer in settled.answers {
            switch answer.total {
            case .success(let total): totals[answer.waiter.request] = total
            case .failure(let error): codes[answer.waiter.request] = error.code
            }
        }
        #expect(totals == [1: 106, 2: 106] && codes == [3: .notFound, 4: .conflict])
        #expect(settled.counted == 6 && settled.refused == 2 && windows.waiterCount == 1)
        _ = windows.close(as: 2, at: 0)
        let refused = try some(windows.settle(2, .failure(ChatError(.roomClosed, "closed")), in: room))
        #expect(refused.answers.count == 1 && refused.refused == 1 && windows.isIdle)
        guard case .failure(let error) = refused.answers[0].total else { throw CancellationError() }
        #expect(error.code == .roomClosed)
    }

    @Test mutating func `without a leader who waits is answered after 3 s, and what was tapped is kept for 30 s`() {
        #expect(add(1, request: 1, at: 0))
        #expect(add(1, request: 2, at: 1_000))
        #expect(windows.expire(hasLeader: false, at: 2_999).waiters.isEmpty)
        #expect(windows.expire(hasLeader: false, at: 3_000).waiters.map(\.request) == [1])
        #expect(windows.expire(hasLeader: true, at: 4_500).waiters.isEmpty)
        #expect(windows.expire(hasLeader: false, at: 4_500).waiters.map(\.request) == [2])
        #expect(windows.close(as: 1, at: 29_000)?.sums.first?.count == 2)
        #expect(add(5, request: 3, at: 29_500))
        let end = windows.expire(hasLeader: true, at: 30_000)
        #expect(end.dropped == 2 && end.waiters.isEmpty && !windows.isSending)
        #expect(windows.sendAgain(isOverdue: false, at: 30_000) == nil)
        #expect(windows.expire(hasLeader: true, at: 59_500).waiters.map(\.request) == [3])
        #expect(windows.isIdle && windows.waiterCount == 0)
    }

    @Test mutating func `of a room that is another one now all is given up`() throws {
        #expect(add(1, request: 1))
        _ = try some(windows.close(as: 1, at: 100))
        #expect(add(5, request: 2) && add(7, "other"))
        let end = windows.giveUp()
        #expect(end.dropped == 13 && end.waiters.map(\.request) == [1, 2])
        #expect(windows.isIdle && windows.waiterCount == 0 && windows.settle(1, .success([1]), in: room) == nil)
    }

    @Test mutating func `a window that is as old as that is not sent again, also when nobody has looked`() throws {
        #expect(add(1, request: 1))
        _ = try some(windows.close(as: 1, at: 100))
        #expect(windows.sendAgain(isOverdue: false, at: 30_000) == nil, "a process that stood still wakes up")
    }

    @Test mutating func `names that somebody makes up take no place from tallies that there are`() throws {
        #expect(add(1, "gifts"))
        _ = windows.close(as: 1, at: 0)
        _ = windows.settle(1, .success([1]), in: room)
        var taken = 0
        for number in 0..<500 where add(1, "made-up-\(number)") { taken += 1 }
        #expect(taken == Limits.tapKeys - Limits.tallies - 1)
        #expect(add(1, "gifts") && add(1), "what is known")
        let batch = try some(windows.close(as: 2, at: 0))
        #expect(batch.sums.count <= Limits.tapKeys)
        _ = windows.settle(2, .success(batch.sums.map { _ in -404 }), in: room)
        #expect(add(1, "made-up-1"), "places are of a window")
    }
}
