import ChatModel
import RoomProtocol
import StorageTestKit
import Testing
import Wire

@testable import Rooms

/// A client need not wait for replies: what it asks next comes after what it has asked before (PROTOCOL.md, "Requests and
/// replies").
struct RequestOrderTests {
    private static func set(_ hosted: HostedRooms, _ name: String, transient: Bool = false, owner: String? = nil) throws
        -> RoomRequest
    {
        var request = QueueSetRequest(room: HostedRooms.room, key: "k", value: "v")
        request.transient = transient
        request.owner = try owner.map(user)
        return try hosted.call(name, .operation(.queueSet(request)))
    }

    private static func exit(_ hosted: HostedRooms, _ name: String) throws -> RoomRequest {
        try hosted.call(name, .operation(.exit(RoomNameRequest(room: HostedRooms.room))))
    }

    private static func queue(_ hosted: HostedRooms, _ name: String) throws -> RoomRequest {
        try hosted.call(name, .operation(.queue(QueueRequest(room: HostedRooms.room))))
    }

    private static func keys(_ answer: Result<OperationResult, ChatError>) -> [String]? {
        if case .success(.queue(let result)) = answer { result.elements.map(\.key) } else { nil }
    }

    @Test func `a read shows what its session has asked for before, and is answered behind it`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"))
            let calls = [
                try Self.set(hosted, "owner"), try Self.queue(hosted, "owner"), try hosted.send("owner", "one"),
                try hosted.call("owner", .operation(.room(RoomNameRequest(room: HostedRooms.room)))),
                try hosted.send("owner", "two"), try Self.exit(hosted, "owner"), try hosted.enter("owner"),
            ]
            hosted.rooms.receive(calls)
            let numbers = try calls.map { try #require($0.number) }
            var answers: [Result<OperationResult, ChatError>] = []
            for number in numbers { answers.append(await hosted.told.answer(to: number)) }
            #expect(Self.keys(answers[1]) == ["k"])
            guard case .success(.room(let room)) = answers[3], case .success(.enter(let entered)) = answers[6] else {
                return #expect(Bool(false), "\(answers)")
            }
            #expect(room.seq == 2 && entered.seq == 3)
            let order = hosted.told.all.compactMap { output -> UInt32? in
                switch output {
                case .reply(_, let request, _, _, _): request
                case .entered(_, let request, _, _), .exited(_, let request): request
                default: nil
                }
            }
            #expect(order.filter(numbers.contains) == numbers)
        }
    }

    @Test func `a seat that is taken before an exit goes with it, whoever enters at once`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("ann"))
            try await hosted.ask(
                Self.set(hosted, "ann", transient: true), Self.exit(hosted, "ann"), hosted.enter("ann"))
            let left = try await hosted.ask(Self.queue(hosted, "ann"))
            #expect(Self.keys(left[0]) == [])
        }
    }

    @Test func `a manager can't seat somebody who is on the way out`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            let kick = KickRequest(room: HostedRooms.room, user: try user("eve"))
            let answers = try await hosted.ask(
                hosted.call("owner", .operation(.kick(kick))), Self.set(hosted, "owner", owner: "eve"),
                Self.set(hosted, "owner"))
            guard case .failure(let error) = answers[1] else { return #expect(Bool(false), "\(answers)") }
            #expect(error.code == .notFound && error.field == "owner")
            // The manager was held up by it, and goes on.
            guard case .success = answers[2] else { return #expect(Bool(false), "\(answers)") }
        }
    }
}
