import ChatModel
import ChatroomClient
import Synchronization
import Testing
import WaitTestKit

extension IntegrationTests {
    /// The Swift SDK against the real program.
    @Suite struct SDKTests {
        @Test func `messages, barrage, history and the queue`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("sdk")
                let ann = try await node.sdkClient("ann")
                let bob = try await node.sdkClient("bob")
                #expect(await ann.user?.text == "ann")
                #expect(try await ann.ping().milliseconds > 0)
                let (annRoom, annWatch) = try await ann.entered(id, EnterOptions(nick: "Ann", withQueue: true))
                let (bobRoom, bobWatch) = try await bob.entered(id)
                let receipt = try await annRoom.send("hello")
                #expect(receipt.seq == 1)
                try await bobWatch.text("hello")
                try await annWatch.text("hello")
                let secret = try await bobRoom.send(.custom("{}", subtype: 3))
                #expect(secret.seq == 2)
                try await bobRoom.barrage("wow", style: "red")
                try await annWatch.event("barrage") { event -> Void? in
                    guard case .barrage(let items) = event, items.contains(where: { $0.text == "wow" }) else {
                        return nil
                    }
                    return ()
                }
                await bobRoom.throwBarrage("again")
                try await annWatch.event("barrage") { event -> Void? in
                    guard case .barrage(let items) = event, items.contains(where: { $0.text == "again" }) else {
                        return nil
                    }
                    return ()
                }
                let page = try await bobRoom.history()
                #expect(page.messages.compactMap(\.seq) == [2, 1] && !page.more)
                #expect(try await bobRoom.info().seq == 2)

                let seat = try await annRoom.queueSet("seat", "ann", ifVersion: 0)
                #expect(seat.version == 1)
                await #expect(throws: ClientError.self) { try await annRoom.queueSet("seat", "x", ifVersion: 0) }
                #expect(try await annRoom.queueSetMany(["seat": "ann2", "none": "x"]) == ["none"])
                #expect(try await bobRoom.queue().elements.map(\.value) == ["ann2"])
                #expect(try await bobRoom.queueTake("seat").key == "seat")
                try await annRoom.queueSet("song", "x")
                try await annRoom.queueClear()
                #expect(try await annRoom.queue().elements.isEmpty)
                try await bobWatch.event("317 DROP") { event -> Void? in
                    guard case .message(let message) = event,
                        message.notification?.data == .queue(change: .drop, element: nil)
                    else { return nil }
                    return ()
                }
                try await annRoom.exit()
                try await annWatch.ended()
                #expect(await annWatch.events.last == .state(.exited))
                await bob.close()
                try await bobWatch.ended()
            }
        }

        @Test func `members, roles, mutes and kicks`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("staff")
                let owner = try await node.sdkClient("owner")
                let ann = try await node.sdkClient("ann")
                let (room, _) = try await owner.entered(id)
                let (annRoom, annWatch) = try await ann.entered(id)
                let user = try #require(UserID("ann"))
                #expect(try await room.setManager(user, true).role == .manager)
                #expect(try await room.setManager(user, false).role == .normal)
                #expect(try await room.setMember(user, true).role == .normal)
                #expect(try await room.setMute(user, true).muted)
                do {
                    try await annRoom.send("may I?")
                    Issue.record("a muted user has sent")
                } catch {
                    #expect((error as? ClientError)?.refusal?.code == .muted)
                }
                #expect(try await !room.setMute(user, false).muted)
                #expect(try await room.tempMute(user, seconds: 60).tempMuted)
                #expect(try await !room.tempMute(user, seconds: 0).tempMuted)
                try await room.muteAll(true)
                await #expect(throws: ClientError.self) { try await annRoom.send("hush") }
                try await room.muteAll(false)
                #expect(try await room.members(.fixed).items.contains { $0.user == user })
                #expect(try await room.members([user]).map(\.user) == [user])
                var changes = RoomChanges()
                changes.name = "Staff only"
                #expect(try await room.update(changes).info.name == "Staff only")
                #expect(try await annRoom.updateMe(ProfileChanges(nick: "Annie")).profile.nick == "Annie")
                let before = await annWatch.events.count
                try await room.kick(user, notifyExt: "enough")
                #expect(
                    try await annWatch.event("kick", from: before) { event -> Kick? in
                        if case .kicked(let kick) = event { kick } else { nil }
                    } == Kick(reason: .byManager, ext: "enough"))
                try await annWatch.ended()
                #expect(await ann.state(of: id) == nil, "it does not come back by itself")
                try await annRoom.enter()
                #expect(try await room.setBlacklist(user, true).blacklisted)
                // The first may be cut short by the kick that is still on its way.
                var refusal: ChatError?
                for _ in 1...2 where refusal == nil {
                    do {
                        try await annRoom.enter()
                        Issue.record("a blacklisted user has entered")
                    } catch {
                        refusal = (error as? ClientError)?.refusal
                    }
                }
                #expect(refusal?.code == .blacklisted)
            }
        }

        @Test func `after kill -9 and a restart everything goes on without hole or duplicate`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("phoenix")
                let (annRoom, annWatch) = try await node.sdkClient("ann").entered(id)
                let (bobRoom, bobWatch) = try await node.sdkClient("bob").entered(id)
                var expected: [String] = []
                for round in 1...3 {
                    for number in 1...20 {
                        try await annRoom.send("\(round).\(number)")
                        expected.append("\(round).\(number)")
                    }
                    let mark = await bobWatch.events.count
                    await node.kill()
                    // Said while nobody is there to hear it.
                    async let waiting = annRoom.send("\(round) while away")
                    try await bobWatch.state(.lost, from: min(mark, 1))
                    try await node.start()
                    _ = try await waiting
                    expected.append("\(round) while away")
                    try await bobWatch.text("\(round) while away")
                }
                try await annWatch.text("3 while away")
                try await bobRoom.send("end")
                try await annWatch.text("end")
                try await bobWatch.text("end")
                expected.append("end")
                #expect(await annWatch.texts == expected)
                #expect(await bobWatch.texts == expected)
                #expect(try await annRoom.history().messages.count == 50)
            }
        }

        @Test func `more than 100 missed messages come from history, in order`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("long")
                let proxy = try await LossyProxy(target: node.clientPort)
                var configuration = node.sdkConfiguration("ann")
                configuration.addressProvider = { ["ws://127.0.0.1:\(proxy.port)/v1/ws"] }
                configuration.settings.reconnectMinMilliseconds = 2_000
                let ann = ChatroomClient(configuration)
                try await ann.connect()
                let (room, watch) = try await ann.entered(id)
                try await room.send("first")
                // Everything that comes with an ID is an answer: the next one is lost, and the connection with it.
                proxy.plan.lose(#""ping""#)
                async let lost = ann.ping()
                try await watch.state(.lost)
                let writer = try await TestClient.connected(node, "writer")
                try await writer.enter(id)
                for number in 1...350 { try await writer.send(id, "m\(number)") }
                _ = try await lost
                try await watch.text("m350")
                try await writer.send(id, "live")
                try await watch.text("live")
                #expect(await watch.texts == ["first"] + (1...350).map { "m\($0)" } + ["live"])
                #expect(await watch.seqs == Array(1...352))
            }
        }

        @Test func `a lost ack is repaired, and nothing is said twice`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("lossy")
                let proxy = try await LossyProxy(target: node.clientPort)
                var configuration = node.sdkConfiguration("ann")
                configuration.addressProvider = { ["ws://127.0.0.1:\(proxy.port)/v1/ws"] }
                // Each connection is lost at once, so the waits would grow.
                configuration.settings.reconnectMaxMilliseconds = 600
                let ann = ChatroomClient(configuration)
                try await ann.connect()
                let (room, watch) = try await ann.entered(id)
                for number in 1...5 {
                    proxy.plan.lose(#""send":{"messageId""#)
                    let receipt = try await room.send("number \(number)")
                    #expect(receipt.seq == UInt64(number))
                    // The watch has a task of its own, which may come later than the answer to `send`.
                    try await watch.event("sent") { event -> Void? in
                        guard case .delivery(let change) = event, change.clientID == receipt.clientID,
                            change.status == .sent(receipt)
                        else { return nil }
                        return ()
                    }
                    let statuses = await watch.events.compactMap { event -> DeliveryStatus? in
                        if case .delivery(let change) = event, change.clientID == receipt.clientID {
                            change.status
                        } else {
                            nil
                        }
                    }
                    #expect(statuses == [.sending, .unknown, .sending, .sent(receipt)])
                }
                #expect(proxy.plan.counts.lost == 5)
                // Changes of other kinds are repaired likewise.
                proxy.plan.lose(#""queueSet":{"#)
                let element = try await room.queueSet("k", "v", ifVersion: 0)
                #expect(element.version == 1)
                let kept = try await room.history().messages.compactMap(\.text)
                #expect(kept == (1...5).reversed().map { "number \($0)" })
                #expect(await watch.texts == (1...5).map { "number \($0)" })
            }
        }

        @Test func `an orderly stop and a restart`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("drain")
                let ann = try await node.sdkClient("ann")
                let (room, watch) = try await ann.entered(id)
                try await room.send("before")
                #expect(try await node.stop()?.status == 0)
                try await watch.state(.lost)
                try await node.start()
                try await room.send("after")
                try await watch.text("after")
                #expect(await watch.seqs == [1, 2])
            }
        }

        @Test func `a token that ends is replaced by refresh, without a new connection`() async throws {
            try await TestNode.run { node in
                let asked = Mutex(0)
                var configuration = node.sdkConfiguration("ann")
                configuration.tokenProvider = {
                    let count = asked.withLock {
                        $0 += 1
                        return $0
                    }
                    return try node.token("ann", seconds: count == 1 ? 30 : 600)
                }
                let ann = ChatroomClient(configuration)
                let events = await ann.events()
                try await ann.connect()
                let seconds = try await withDeadline("tokenExpiring") { () -> Int64? in
                    for await case .tokenExpiring(let seconds) in events { return seconds }
                    return nil
                }
                #expect((1...30).contains(seconds ?? 0))
                try await poll("a second token") { asked.withLock { $0 } >= 2 }
                #expect(await ann.state == .connected)
            }
        }

        @Test func `providers that fail fall back or are retried`() async throws {
            try await TestNode.run { node in
                let asked = Mutex(0)
                var configuration = node.sdkConfiguration("ann")
                configuration.gateways = ["ws://127.0.0.1:\(node.clientPort)"]
                configuration.addressProvider = { throw TestFailure("no address today") }
                configuration.tokenProvider = {
                    if asked.withLock({
                        $0 += 1
                        return $0 == 1
                    }) {
                        throw TestFailure("not yet")
                    }
                    return try node.token("ann")
                }
                let ann = ChatroomClient(configuration)
                try await ann.connect()
                #expect(asked.withLock { $0 } == 2)
            }
        }

        @Test func `wss is spoken, and a certificate that is not trusted is refused`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("secure")
                let proxy = try await LossyProxy(target: node.clientPort, isSecure: true)
                var configuration = node.sdkConfiguration("ann")
                configuration.addressProvider = { ["wss://localhost:\(proxy.port)"] }
                configuration.settings.retryCount = 0
                let suspicious = ChatroomClient(configuration)
                do {
                    try await suspicious.connect()
                    Issue.record("an unknown certificate was trusted")
                } catch {
                    #expect((error as? ClientError)?.code == .connectionFailed)
                }
                configuration.tls.trustedCertificatesPEM = Array(
                    try TestCertificate.shared.get().certificatePEM.utf8)
                let ann = ChatroomClient(configuration)
                try await ann.connect()
                let (room, watch) = try await ann.entered(id)
                // Over a lost connection, too.
                proxy.plan.lose(#""send":{"messageId""#)
                let text = String(repeating: "long ", count: 6_000)
                try await room.send(text)
                try await watch.text(text)
                #expect(proxy.plan.counts.lost == 1)
                // The certificate does not name every address.
                let other = try await LossyProxy(target: node.clientPort, isSecure: true, host: "127.0.0.2")
                configuration.addressProvider = { ["wss://127.0.0.2:\(other.port)"] }
                let misled = ChatroomClient(configuration)
                await #expect(throws: ClientError.self) { try await misled.connect() }
                #expect(other.plan.counts.accepted == 1)
            }
        }

        @Test func `anonymous clients listen`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("public")
                let guest = ChatroomClient(node.sdkConfiguration(nil))
                try await guest.connect()
                let options = EnterOptions(nick: "Guest", avatar: "https://example.org/a.png")
                let (room, watch) = try await guest.entered(id, options)
                let (annRoom, _) = try await node.sdkClient("ann").entered(id)
                try await annRoom.send("hello guest")
                try await watch.text("hello guest")
                do {
                    try await room.send("hello")
                    Issue.record("an anonymous client has sent")
                } catch {
                    #expect((error as? ClientError)?.refusal?.code == .forbidden)
                }
            }
        }

        @Test func `hooks rewrite, stop and keep, and are told what became of it`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("hooked")
                let hooks = RecordingHooks()
                var configuration = node.sdkConfiguration("ann")
                configuration.sendHooks = hooks
                let ann = ChatroomClient(configuration)
                try await ann.connect()
                let (room, watch) = try await ann.entered(id)
                try await room.send("rewrite me")
                try await watch.text("rewritten")
                do {
                    try await room.send("stop me")
                    Issue.record("not stopped")
                } catch {
                    #expect((error as? ClientError)?.code == .stoppedByHook)
                }
                do {
                    try await room.send("keep me")
                    Issue.record("not kept")
                } catch {
                    #expect((error as? ClientError)?.code == .keptLocal)
                }
                #expect(
                    hooks.log == [
                        "will rewrite me", "attached rewritten", "did rewritten sent", "will stop me", "will keep me",
                        "attached keep me",
                    ])
                #expect(try await room.history().messages.count == 1)
            }
        }

        @Test func `a listener that is added twice hears once, and a filter keeps notifications away`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("heard")
                var configuration = node.sdkConfiguration("ann")
                configuration.ignoresNotification = { _, notification in notification.event == .enter }
                let ann = ChatroomClient(configuration)
                try await ann.connect()
                let heard = Mutex<[String]>([])
                let room = ann.room(id)
                let listener: @Sendable (RoomEvent) async -> Void = { event in
                    guard case .message(let message) = event else { return }
                    heard.withLock { $0.append(message.text ?? "notification") }
                }
                #expect(await room.addListener("screen", listener))
                #expect(await !room.addListener("screen", listener))
                let watch = await RoomWatch(await room.events())
                try await room.enter()
                try await room.send("one")
                try await watch.text("one")
                // Over stays, too.
                try await room.exit()
                let second = await RoomWatch(await room.events())
                try await room.enter()
                try await room.send("two")
                try await second.text("two")
                try await poll("two messages heard") { heard.withLock { $0.count } >= 2 }
                #expect(heard.withLock { $0 } == ["one", "two"])
                #expect(await ann.removeListener("screen"))
                #expect(await !ann.removeListener("screen"))
            }
        }

        @Test func `a consumer that does not keep up gets a gap, and the others everything`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("lazy")
                var configuration = node.sdkConfiguration("ann")
                configuration.waitingEventsMax = 50
                let ann = ChatroomClient(configuration)
                try await ann.connect()
                let room = ann.room(id)
                let lazy = await room.events()
                let (_, watch) = try await ann.entered(id)
                // The bound is the watch's too, so it must not fall behind.
                for number in 1...100 {
                    try await room.send("m\(number)")
                    try await watch.text("m\(number)")
                }
                let (seqs, gap) = try await withDeadline("a gap") { () -> ([UInt64], Gap?) in
                    var seqs: [UInt64] = []
                    for await event in lazy {
                        if case .message(let message) = event, let seq = message.seq { seqs.append(seq) }
                        if case .gap(let told) = event { return (seqs, told) }
                    }
                    return (seqs, nil)
                }
                let told = try #require(gap)
                #expect(told.cause == .consumer && told.ranges.count == 1)
                #expect(seqs + told.ranges.flatMap { Array($0) } == Array(1...100))
            }
        }
    }
}

/// Rewrites, stops or keeps by what the text asks for, and notes everything.
private final class RecordingHooks: SendHooks {
    private let notes = Mutex<[String]>([])

    var log: [String] { notes.withLock { $0 } }

    private func note(_ text: String) { notes.withLock { $0.append(text) } }

    private func text(_ message: OutgoingMessage) -> String {
        if case .text(let text) = message.draft.body { text } else { "" }
    }

    func willSend(_ message: OutgoingMessage) async -> SendDecision {
        note("will \(text(message))")
        switch text(message) {
        case "stop me": return .stop("a forbidden word")
        case "keep me": return .keepLocal
        default:
            var other = message
            other.draft.body = .text("rewritten")
            return .send(other)
        }
    }

    func attached(_ message: OutgoingMessage) async { note("attached \(text(message))") }

    func didSend(_ message: OutgoingMessage, _ status: DeliveryStatus) async {
        if case .sent = status { note("did \(text(message)) sent") } else { note("did \(text(message)) \(status)") }
    }
}
