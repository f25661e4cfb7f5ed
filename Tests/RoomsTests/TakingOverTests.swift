import ChatModel
import RoomCore
import RoomProtocol
import StorageTestKit
import Synchronization
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// A leader that was not there when it happened does as the former one would have done: its node was restarted on the
/// former one's disk.
@Suite(.timeLimit(.minutes(3))) struct TakingOverTests {
    private let away: NodeID

    init() throws { away = try #require(NodeID("n2")) }

    /// A clock that tests set ahead.
    private final class Clock: Sendable {
        private let ahead = Mutex<Int64>(0)
        func pass(seconds: Int64) { ahead.withLock { $0 += seconds * 1000 } }
        var options: HostedRooms.Options {
            var options = HostedRooms.Options()
            options.now = { [self] in HostedRooms.now().adding(milliseconds: ahead.withLock { $0 }) }
            return options
        }
    }

    /// A lane of `away` says that a session is in the room.
    private func announce(_ name: String, _ hosted: HostedRooms, enteredAt: Timestamp) throws {
        var call = try hosted.call(name, from: away, .announce(SessionStay(profile: Profile(), enteredAt: enteredAt)))
        call.session?.request = nil
        hosted.rooms.receive([call])
    }

    private func kicks(_ hosted: HostedRooms) -> [String: KickReason] {
        var kicks: [String: KickReason] = [:]
        for case .kicked(let session, let reason, _) in hosted.told.all { kicks[session.text] = reason }
        return kicks
    }

    private func perform(_ body: CommandBody, _ hosted: HostedRooms) async throws {
        _ = try await hosted.served { () async throws(ChatError) in
            try await hosted.calls.perform(body, in: HostedRooms.room, as: .system, id: nil)
        }
    }

    private func code(_ body: CommandBody, _ hosted: HostedRooms) async throws -> ErrorCode? {
        do {
            try await perform(body, hosted)
            return nil
        } catch let error as ChatError { return error.code }
    }

    private let quiet = NotifyOptions(notify: false)

    // MARK: - Seats

    private func seats(_ hosted: HostedRooms) async throws -> [String] {
        var enter = EnterRequest(room: HostedRooms.room)
        enter.withQueue = true
        let answers = try await hosted.ask(hosted.call("owner", .operation(.enter(enter))))
        guard case .success(.enter(let entered))? = answers.first else {
            Issue.record("\(answers)")
            return []
        }
        return (entered.queue ?? []).map(\.key)
    }

    private func seat(_ name: String, _ hosted: HostedRooms) throws -> RoomRequest {
        var seat = QueueSetRequest(room: HostedRooms.room, key: "seat", value: "v")
        seat.transient = true
        seat.owner = try user(name)
        return try hosted.call("owner", .operation(.queueSet(seat)))
    }

    /// Runs a leader that took over a moment ago: others may still be announced.
    private func takeOver(_ body: (HostedRooms, Clock) async throws -> Void) async throws {
        let (directory, clock) = (try TemporaryDirectory(), Clock())
        var options = clock.options
        options.level = .newest
        options.policy.graceSeconds = 3_600
        try await HostedRooms.run(directory, options) { try await $0.createRoom() }
        clock.pass(seconds: 1)
        try await HostedRooms.run(directory, create: false, options) { hosted in
            await hosted.told.led(times: 1)
            try await hosted.ask(hosted.enter("owner"))
            try await body(hosted, clock)
        }
    }

    @Test func `a seat on its way to somebody who leaves goes at once, though others may still be announced`()
        async throws
    {
        try await takeOver { hosted, _ in
            try await hosted.ask(hosted.enter("eve"))
            let exit = try hosted.call("eve", .operation(.exit(RoomNameRequest(room: HostedRooms.room))))
            let answers = try await hosted.ask(seat("eve", hosted), exit)
            for answer in answers { _ = try answer.get() }
            // The clock stands within the grace: nothing but the exit takes the seat.
            try await poll("the seat goes") { try await seats(hosted).isEmpty }
        }
    }

    @Test func `a seat for somebody who may be announced stays for the grace, and no longer`() async throws {
        try await takeOver { hosted, clock in
            for answer in try await hosted.ask(seat("eve", hosted)) { _ = try answer.get() }
            #expect(try await seats(hosted) == ["seat"])
            clock.pass(seconds: 7_200)
            try await poll("the seat goes") { try await seats(hosted).isEmpty }
        }
    }

    @Test func `a grace that has begun goes on when the session's node is lost in it`() async throws {
        try await takeOver { hosted, clock in
            func online() async throws -> Int64 {
                try await hosted.served { () async throws(ChatError) in
                    try await hosted.calls.view(of: HostedRooms.room).online
                }
            }
            let enter = RoomRequest.Body.operation(.enter(EnterRequest(room: HostedRooms.room)))
            for name in ["eve", "bob"] {
                for answer in try await hosted.ask(hosted.call(name, from: away, enter)) { _ = try answer.get() }
            }
            #expect(try await online() == 3)
            hosted.rooms.receive([try hosted.call("eve", from: away, .away)])
            // Answered behind it.
            let ping = RoomRequest.Body.operation(.room(RoomNameRequest(room: HostedRooms.room)))
            for answer in try await hosted.ask(hosted.call("bob", from: away, ping)) { _ = try answer.get() }
            clock.pass(seconds: 3_000)
            hosted.rooms.onNodeLost(away)
            try await hosted.ask(hosted.send("owner", "on"))
            #expect(try await online() == 3)
            clock.pass(seconds: 700)
            try await poll("eve's connection has been gone for long enough") { try await online() == 2 }
            clock.pass(seconds: 3_000)
            try await poll("and now bob's node") { try await online() == 1 }
        }
    }

    @Test func `no more than so many who have left are remembered, and nobody when all are announced`() throws {
        var graces = Graces()
        let (early, late) = (try user("u7"), try user("late"))
        for number in 0..<Graces.departedMax { graces.depart(try user("u\(number)"), mayReturn: true) }
        graces.depart(late, mayReturn: true)
        #expect(graces.departed.count == Graces.departedMax && !graces.departed.contains(late))
        graces.arrive(early)
        graces.depart(late, mayReturn: true)
        #expect(!graces.departed.contains(early) && graces.departed.contains(late))
        graces.depart(early, mayReturn: false)
        #expect(graces.departed.isEmpty)
    }

    /// An event that befalls eve's stay while her gateway is away.
    enum End: CaseIterable {
        case kick, blacklisting, closing

        var reason: KickReason {
            switch self {
            case .kick: .byManager
            case .blacklisting: .blacklisted
            case .closing: .roomClosed
            }
        }
    }

    private func end(_ end: End, _ hosted: HostedRooms) async throws {
        switch end {
        case .kick:
            try await perform(.kick(try user("eve"), banSeconds: nil, quiet), hosted)
        case .blacklisting:
            try await perform(.setBlacklist(try user("eve"), enable: true, quiet), hosted)
            try await perform(.setBlacklist(try user("eve"), enable: false, quiet), hosted)
        case .closing:
            try await perform(.closeRoom(quiet), hosted)
            try await perform(.reopenRoom, hosted)
        }
    }

    /// - storage: which one the next leader has: that of the former one, or one that is filled from the log.
    @Test(arguments: End.allCases, ["first", "second"])
    func `who was put out without a notification while the gateway was away is told so by the next leader`(
        _ end: End, storage: String
    ) async throws {
        let directory = try TemporaryDirectory()
        let enteredAt = try await HostedRooms.run(directory) { hosted in
            try await hosted.createRoom()
            let enteredAt = HostedRooms.now()
            let enter = EnterRequest(room: HostedRooms.room)
            try await hosted.ask(
                hosted.call("eve", from: away, .operation(.enter(enter))),
                hosted.call("bob", from: away, .operation(.enter(enter))))
            hosted.rooms.onNodeLost(away)
            try await self.end(end, hosted)
            return enteredAt
        }
        var options = HostedRooms.Options()
        options.storage = storage
        try await HostedRooms.run(directory, create: false, options) { hosted in
            await hosted.told.led(times: 1)
            try announce("eve", hosted, enteredAt: enteredAt)
            try announce("bob", hosted, enteredAt: enteredAt)
            // Somebody who has come since is here.
            try announce("joe", hosted, enteredAt: HostedRooms.now().adding(seconds: 1))
            try await hosted.ask(hosted.enter("owner"))
            let isOver = end == .closing
            #expect(kicks(hosted) == (isOver ? ["eve": end.reason, "bob": end.reason] : ["eve": end.reason]))
            let view = try await hosted.calls.view(of: HostedRooms.room)
            #expect(view.online == (isOver ? 2 : 3))
        }
    }

    @Test func `who may be here and has not been announced yet can be kicked, and is put out when announced`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let clock = Clock()
        let enteredAt = try await HostedRooms.run(directory, clock.options) { hosted in
            try await hosted.createRoom()
            let enteredAt = HostedRooms.now()
            let enter = EnterRequest(room: HostedRooms.room)
            try await hosted.ask(hosted.call("eve", from: away, .operation(.enter(enter))))
            #expect(try await code(.kick(try user("bob"), banSeconds: nil, quiet), hosted) == .notFound)
            return enteredAt
        }
        clock.pass(seconds: 1)
        try await HostedRooms.run(directory, create: false, clock.options) { hosted in
            await hosted.told.led(times: 1)
            #expect(try await code(.kick(try user("eve"), banSeconds: nil, quiet), hosted) == nil)
            // She is out now, wherever she is.
            #expect(try await code(.kick(try user("eve"), banSeconds: nil, quiet), hosted) == .notFound)
            try announce("eve", hosted, enteredAt: enteredAt)
            try await hosted.ask(hosted.enter("owner"))
            #expect(kicks(hosted) == ["eve": .byManager])
            // Everybody has been announced when the grace has passed.
            clock.pass(seconds: 11)
            #expect(try await code(.kick(try user("bob"), banSeconds: nil, quiet), hosted) == .notFound)
            // In a room of this leader's time nobody can have been before.
            let other = try #require(RoomID("other"))
            try await hosted.createRoom(other)
            await #expect(throws: ChatError.self) {
                _ = try await hosted.calls.perform(
                    .kick(try user("bob"), banSeconds: nil, quiet), in: other, as: .system, id: nil)
            }
        }
    }

    @Test(arguments: ["first", "second"])
    func `a message that is repeated has the priority with which it was accepted, however much came after it`(
        storage: String
    ) async throws {
        let directory = try TemporaryDirectory()
        func answers(_ hosted: HostedRooms) async throws -> [Result<OperationResult, ChatError>] {
            var answers: [Result<OperationResult, ChatError>] = []
            for (name, priority) in [("owner", Priority.high), ("owner", .low), ("eve", .high), ("eve", .normal)] {
                var draft = MessageDraft(body: .text("first"))
                draft.priority = priority
                let request = SendRequest(room: HostedRooms.room, clientID: "\(name)-\(priority)", draft: draft)
                answers += try await hosted.ask(hosted.call(name, .operation(.send(request))))
            }
            return answers
        }
        let first = try await HostedRooms.run(directory) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            let first = try await answers(hosted)
            for number in 0..<5 { try await hosted.ask(hosted.send("owner", "later \(number)")) }
            return first
        }
        var options = HostedRooms.Options()
        (options.storage, options.hotTailRows) = (storage, 3)
        try await HostedRooms.run(directory, create: false, options) { hosted in
            await hosted.told.led(times: 1)
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            #expect(try await answers(hosted) == first)
            #expect(try await hosted.history().count == 9)
        }
    }

    @Test(arguments: ["first", "second"])
    func `slow mode and the rate of HIGH messages go on where they were`(storage: String) async throws {
        let directory = try TemporaryDirectory()
        // It stands still but for what is set.
        let time = Mutex(HostedRooms.now())
        var options = HostedRooms.Options()
        options.policy.highPerSecondMax = 2
        options.now = { time.withLock { $0 } }
        func high(_ hosted: HostedRooms) async throws -> Priority? {
            var draft = MessageDraft(body: .text("now"))
            draft.priority = .high
            let result = try await hosted.calls.perform(.post(draft), in: HostedRooms.room, as: .system, id: nil)
            guard case .posted(_, _, _, let priority, _) = result else { return nil }
            return priority
        }
        try await HostedRooms.run(directory, options) { hosted in
            try await hosted.createRoom()
            var slow = RoomChanges()
            slow.slowModeSeconds = 30
            try await perform(.updateRoom(set: slow, quiet), hosted)
            try await hosted.ask(hosted.enter("eve"), hosted.send("eve", "one"))
            for _ in 0..<2 { #expect(try await high(hosted) == .high) }
        }
        options.storage = storage
        try await HostedRooms.run(directory, create: false, options) { hosted in
            await hosted.told.led(times: 1)
            #expect(try await high(hosted) == .normal)
            let answers = try await hosted.ask(hosted.enter("eve"), hosted.send("eve", "two"))
            guard case .failure(let error)? = answers.last else { return #expect(Bool(false), "\(answers)") }
            #expect(error.code == .tooOften && error.retryAfterMs == 30_000)
            time.withLock { $0 = $0.adding(seconds: 30) }
            #expect(try await high(hosted) == .high)
            guard case .success? = try await hosted.ask(hosted.send("eve", "three")).last else {
                return #expect(Bool(false))
            }
        }
    }
}
