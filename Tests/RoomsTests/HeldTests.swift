import ChatModel
import Foundation
import Moderation
import RoomCore
import RoomProtocol
import StorageTestKit
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// Messages that wait for a manager, as their leader tells of them.
@Suite(.timeLimit(.minutes(3))) struct HeldTests {
    private static func options() -> HostedRooms.Options {
        var options = HostedRooms.Options()
        options.level = .newest
        return options
    }

    private static func hold(_ hosted: HostedRooms, _ text: String, by name: String = "ann") async throws -> String {
        guard case .send(let sent) = try await hosted.ask(hosted.send(name, text))[0].get(), let heldID = sent.heldID
        else { throw ChatError(.internal, "not held") }
        return heldID
    }

    private static func decide(
        _ hosted: HostedRooms, _ heldID: String, _ isAllowed: Bool, session: String = "owner"
    ) async throws -> HeldResult {
        let request = HeldRequest(room: HostedRooms.room, heldID: heldID, HeldDecision(isAllowed: isAllowed))
        guard
            case .held(let result) = try await hosted.ask(
                hosted.call("owner", session: session, .operation(.held(request))))[0].get()
        else { throw ChatError(.internal, "another result") }
        return result
    }

    /// The pushes of held messages and denials that a session was told, by user's session, in order.
    private static func told(_ hosted: HostedRooms, _ name: String) -> [String] {
        hosted.told.all.flatMap { output -> [String] in
            guard case .frameFor(let sessions, let frame) = output, sessions.map(\.text).contains(name),
                let json = frame.json
            else { return [] }
            let text = String(decoding: json, as: UTF8.self)
            return ["held", "denied"].filter { text.contains("{\"\($0)\":{") }
        }
    }

    private static func waits(_ hosted: HostedRooms, until name: String, was told: [String]) async throws {
        try await poll("\(name) was told \(told)") { Self.told(hosted, name) == told }
    }

    private static func words(_ hosted: HostedRooms) async throws {
        await hosted.rooms.setModeration(try WordFilter([Word("iffy", .hold)]), hook: nil)
    }

    @Test func `one user can't take all places`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("ann"), hosted.enter("bob"))
            try await Self.words(hosted)
            for number in 0..<Limits.heldPerUser { _ = try await Self.hold(hosted, "iffy \(number)") }
            let refused = try await hosted.ask(hosted.send("ann", "iffy more"))[0]
            #expect(throws: ChatError.self) { try refused.get() }
            if case .failure(let error) = refused { #expect(error.code == .tooOften && error.retryAfterMs != nil) }
            // A message that need not wait comes through, and others have their own share.
            guard case .send(let sent) = try await hosted.ask(hosted.send("ann", "plain"))[0].get() else {
                throw ChatError(.internal, "not sent")
            }
            #expect(sent.heldID == nil)
            _ = try await Self.hold(hosted, "iffy", by: "bob")
        }
    }

    @Test func `only managers and the sender are told, and a lane that follows is told again what it may have missed`()
        async throws
    {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("ann"), hosted.enter("bob"))
            try await Self.words(hosted)
            let (first, second) = (try await Self.hold(hosted, "iffy 1"), try await Self.hold(hosted, "iffy 2"))
            try await Self.waits(hosted, until: "owner", was: ["held", "held"])
            #expect(Self.told(hosted, "ann").isEmpty && Self.told(hosted, "bob").isEmpty)
            let denied = try await Self.decide(hosted, first, false)
            #expect(denied.message?.messageID == first && denied.message?.seq == nil)
            try await Self.waits(hosted, until: "ann", was: ["denied"])
            #expect(try await hosted.history().isEmpty)
            // A lane that has been shown everything up to then, and maybe not these.
            guard
                case .enter(let entered) = try await hosted.ask(hosted.enter("owner", session: "owner2"))[0].get()
            else { throw ChatError(.internal, "not entered") }
            hosted.rooms.receive([
                try hosted.call("owner", .follow(StreamPlace(epoch: entered.epoch, seq: entered.seq)))
            ])
            try await Self.waits(hosted, until: "ann", was: ["denied", "denied"])
            try await Self.waits(hosted, until: "owner2", was: ["held"])
            let message = try #require(try await Self.decide(hosted, second, true, session: "owner2").message)
            #expect(message.seq == 1 && message.body == .text("iffy 2"))
            hosted.rooms.receive([try hosted.call("owner", .follow(StreamPlace(epoch: entered.epoch, seq: 1)))])
            try await hosted.ask(hosted.send("bob", "end"))
            #expect(Self.told(hosted, "ann") == ["denied", "denied"], "told before what it has been shown")
            #expect(Self.told(hosted, "bob").isEmpty)
        }
    }

    @Test func `what waits is there for the next life of the program, which decides it when its time is over`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let heldID = try await HostedRooms.run(directory, Self.options()) { hosted -> String in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("ann"))
            await hosted.rooms.setModeration(
                try WordFilter([Word("iffy", .hold)]), hook: nil, hold: HoldPolicy(seconds: 2, onExpiry: .allow))
            let heldID = try await Self.hold(hosted, "iffy")
            #expect(try await Self.hold(hosted, "iffy") == heldID, "a repeat")
            return heldID
        }
        try await HostedRooms.run(directory, create: false, Self.options()) { hosted in
            try await poll("the message") { (try? await hosted.history().map(\.body)) == [.text("iffy")] }
            try await hosted.ask(hosted.enter("owner"), hosted.enter("ann"))
            let late = try await hosted.ask(
                hosted.call(
                    "owner",
                    .operation(
                        .held(HeldRequest(room: HostedRooms.room, heldID: heldID, HeldDecision(isAllowed: false))))))
            guard case .failure(let error) = late[0] else { throw ChatError(.internal, "decided twice") }
            #expect(error.code == .conflict)
            guard case .send(let sent) = try await hosted.ask(hosted.send("ann", "iffy"))[0].get() else {
                throw ChatError(.internal, "no ack")
            }
            #expect(sent.place == .kept(seq: 1), "a repeat of the send")
        }
    }

    @Test func `below the level that brings it nothing is held and nothing listed`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("ann"))
            try await Self.words(hosted)
            let answers = try await hosted.ask(
                hosted.send("ann", "iffy"),
                hosted.call("owner", .operation(.held(HeldRequest(room: HostedRooms.room)))),
                hosted.call(
                    "owner",
                    .operation(
                        .held(HeldRequest(room: HostedRooms.room, heldID: "a.1", HeldDecision(isAllowed: true))))))
            for answer in answers {
                guard case .failure(let error) = answer else { throw ChatError(.internal, "not refused") }
                #expect(error.code == .upgrading)
            }
        }
    }
}
