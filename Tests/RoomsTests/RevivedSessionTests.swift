import ChatModel
import Foundation
import RoomCore
import RoomProtocol
import StorageTestKit
import Synchronization
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// Sessions that a node has taken up because their holder could not be reached, as the room's leader sees them.
@Suite(.timeLimit(.minutes(3))) struct RevivedSessionTests {
    private let holder: NodeID
    private let taker: NodeID

    init() throws {
        holder = try #require(NodeID("n2"))
        taker = try #require(NodeID("n3"))
    }

    /// The events that were shown.
    private func shown(_ hosted: HostedRooms) -> String {
        // Each node is told the same.
        var frames: [[UInt8]] = []
        for case .frame(let frame) in hosted.told.all {
            guard let json = frame.json, !frames.contains(json) else { continue }
            frames.append(json)
        }
        let text = frames.map { String(decoding: $0, as: UTF8.self) }.joined()
        return ["301", "302"].map { $0 + "x" + "\(text.components(separatedBy: "\"event\":" + $0).count - 1)" }
            .joined(separator: " ")
    }

    private func taken(_ hosted: HostedRooms) -> [TakenSession] {
        hosted.told.all.compactMap { if case .takenOver(let taken) = $0 { taken } else { nil } }
    }

    private func call(
        _ hosted: HostedRooms, _ name: String, at node: NodeID, revivedAt: Int64?, _ body: RoomRequest.Body
    ) throws -> RoomRequest {
        var call = try hosted.call(name, from: node, body)
        call.session?.caller.revivedAt = revivedAt.map { Timestamp($0) }
        return call
    }

    private var enter: RoomRequest.Body { .operation(.enter(EnterRequest(room: HostedRooms.room))) }

    /// A room that has been led for longer than the grace, with its owner and eve, who came at `holder`.
    private func withRoom(_ body: (HostedRooms) async throws -> Void) async throws {
        let ahead = ClockAhead()
        var options = HostedRooms.Options()
        options.now = { HostedRooms.now().adding(milliseconds: ahead.milliseconds) }
        try await HostedRooms.run(try TemporaryDirectory(), options) { hosted in
            try await hosted.createRoom()
            ahead.milliseconds = 11_000
            try await hosted.ask(hosted.enter("owner"))
            try await hosted.ask(call(hosted, "eve", at: holder, revivedAt: nil, enter))
            try await poll("both have come") { shown(hosted) == "301x2 302x0" }
            try await body(hosted)
        }
    }

    /// A room of a leader before this one, which has just begun to lead: at that time.
    private func withNewLeader(_ body: (HostedRooms, _ now: Int64) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        try await HostedRooms.run(directory) { try await $0.createRoom() }
        var options = HostedRooms.Options()
        options.now = { HostedRooms.now().adding(seconds: 60) }
        try await HostedRooms.run(directory, create: false, options) { hosted in
            await hosted.told.led(times: 1)
            try await body(hosted, options.now().milliseconds)
        }
    }

    @Test func `whose node died stay here, and nobody is told`() async throws {
        try await withRoom { hosted in
            hosted.rooms.onNodeLost(holder)
            let answer = try await hosted.ask(call(hosted, "eve", at: taker, revivedAt: 5, enter))
            guard case .success(.enter(let result)) = answer[0] else { return #expect(Bool(false), "\(answer)") }
            #expect(result.room.online == 2)
            try await hosted.ask(hosted.send("owner", "on"))
            #expect(shown(hosted) == "301x2 302x0")
        }
    }

    @Test func `whose node was only cut off end there, and what that still asks for them is not done`() async throws {
        try await withRoom { hosted in
            try await hosted.ask(call(hosted, "eve", at: taker, revivedAt: 5, enter))
            let session = try #require(SessionID("eve"))
            #expect(taken(hosted) == [TakenSession(session: session, at: Timestamp(5))])
            let stale = SendRequest(
                room: HostedRooms.room, clientID: "c", draft: MessageDraft(body: .text("stale")))
            hosted.rooms.receive([
                try call(hosted, "eve", at: holder, revivedAt: nil, .leave),
                try call(hosted, "eve", at: holder, revivedAt: nil, .operation(.send(stale))),
                try call(
                    hosted, "eve", at: holder, revivedAt: nil,
                    .announce(SessionStay(profile: Profile(), enteredAt: HostedRooms.now()))),
            ])
            try await poll("each is told") { taken(hosted).count == 4 }
            try await hosted.ask(hosted.send("owner", "on"))
            #expect(try await hosted.history().map(\.body) == [.text("on")])
            #expect(shown(hosted) == "301x2 302x0")
        }
    }

    @Test func `that were put out before their client could hear it are told so once they go on, and may come anew`()
        async throws
    {
        try await withRoom { hosted in
            hosted.rooms.onNodeLost(holder)
            // The clock of the test is ahead.
            let revivedAt = HostedRooms.now().adding(seconds: 11).milliseconds
            _ = try await hosted.calls.perform(
                .kick(try user("eve"), banSeconds: nil, NotifyOptions(notify: false, notifyExt: "x")),
                in: HostedRooms.room, as: .system, id: nil)
            func kicks() -> [String?] {
                hosted.told.all.compactMap { if case .kicked(_, .byManager, let ext) = $0 { .some(ext) } else { nil } }
            }
            try await poll("the lost node is told") { kicks().count == 1 }
            var since = EnterRequest(room: HostedRooms.room)
            since.since = 0
            let goesOn = RoomRequest.Body.operation(.enter(since))
            let refused = try await hosted.ask(call(hosted, "eve", at: taker, revivedAt: revivedAt, goesOn))
            guard case .failure(let error)? = refused.first else { return #expect(Bool(false), "\(refused)") }
            #expect(error.code == .forbidden && kicks() == ["x", "x"])
            // It has been told, and asks again.
            let again = try await hosted.ask(call(hosted, "eve", at: taker, revivedAt: revivedAt, goesOn))
            guard case .success? = again.first else { return #expect(Bool(false), "\(again)") }
            #expect(kicks().count == 2)
            hosted.rooms.receive([try call(hosted, "eve", at: taker, revivedAt: revivedAt, .leave)])
            // One that was taken up long ago was told by its node, and another session has nothing to do with it.
            for revived in [revivedAt - 30_000, nil] {
                let other = try call(hosted, "eve", at: taker, revivedAt: revived, goesOn)
                guard case .success? = try await hosted.ask(other).first else { return #expect(Bool(false)) }
                hosted.rooms.receive([try call(hosted, "eve", at: taker, revivedAt: revived, .leave)])
            }
            let anew = try await hosted.ask(call(hosted, "eve", at: taker, revivedAt: revivedAt, enter))
            guard case .success? = anew.first else { return #expect(Bool(false), "\(anew)") }
            #expect(kicks().count == 2)
            // A client that has seen a message from after the kick was told, and let in again.
            hosted.rooms.receive([try call(hosted, "eve", at: taker, revivedAt: revivedAt, .leave)])
            try await hosted.ask(hosted.send("owner", "on"))
            guard case .success(.enter(let entered))? = anew.first else { return #expect(Bool(false), "\(anew)") }
            since.epoch = entered.epoch
            since.since = try #require(try await hosted.history().first?.seq)
            let seen = RoomRequest.Body.operation(.enter(since))
            // Taken up once more, so that the room has not told it.
            let letIn = try await hosted.ask(call(hosted, "eve", at: taker, revivedAt: revivedAt + 1, seen))
            guard case .success? = letIn.first else { return #expect(Bool(false), "\(letIn)") }
            #expect(kicks().count == 2)
        }
    }

    @Test func `that a new leader does not know were here, and others come`() async throws {
        try await withNewLeader { hosted, now in
            try await hosted.ask(call(hosted, "eve", at: taker, revivedAt: now, enter))
            #expect(shown(hosted) == "301x0 302x0")
            try await hosted.ask(call(hosted, "bob", at: taker, revivedAt: nil, enter))
            #expect(shown(hosted) == "301x1 302x0")
            // Taken up long ago, it would have been announced.
            try await hosted.ask(call(hosted, "joe", at: taker, revivedAt: 5, enter))
            #expect(shown(hosted) == "301x2 302x0")
        }
    }

    @Test func `who has left a new leader, or was put out, comes anew when it enters again`() async throws {
        try await withNewLeader { hosted, now in
            func ask(_ body: RoomRequest.Body) async throws {
                let answer = try await hosted.ask(call(hosted, "eve", at: taker, revivedAt: now, body))
                guard case .success? = answer.first else { return #expect(Bool(false), "\(answer)") }
            }
            try await ask(enter)
            #expect(shown(hosted) == "301x0 302x0")
            try await ask(.operation(.exit(RoomNameRequest(room: HostedRooms.room))))
            #expect(shown(hosted) == "301x0 302x1")
            try await ask(enter)
            #expect(shown(hosted) == "301x1 302x1")
            _ = try await hosted.calls.perform(
                .kick(try user("eve"), banSeconds: nil, NotifyOptions()), in: HostedRooms.room, as: .system, id: nil)
            try await ask(enter)
            #expect(shown(hosted) == "301x2 302x1")
        }
    }

    @Test func `who comes to a room that a new leader has made comes`() async throws {
        try await withNewLeader { hosted, now in
            let other = try #require(RoomID("made"))
            try await hosted.createRoom(other)
            var request = try hosted.call(
                "eve", of: other, from: taker, .operation(.enter(EnterRequest(room: other))))
            request.session?.caller.revivedAt = Timestamp(now)
            try await hosted.ask(request)
            #expect(shown(hosted) == "301x1 302x0")
        }
    }

    @Test func `that come to a leader of long ago come`() async throws {
        try await withRoom { hosted in
            try await hosted.ask(call(hosted, "bob", at: taker, revivedAt: 5, enter))
            #expect(shown(hosted) == "301x3 302x0")
        }
    }
}

/// How far a test's clock is ahead.
private final class ClockAhead: Sendable {
    private let value = Mutex<Int64>(0)
    var milliseconds: Int64 {
        get { value.withLock { $0 } }
        set { value.withLock { $0 = newValue } }
    }
}
