import ChatModel
import RoomCore
import RoomProtocol
import StorageTestKit
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// Windows of taps of a lane, and what lanes are told of totals.
@Suite(.timeLimit(.minutes(3))) struct TapsTests {
    private static func options() -> HostedRooms.Options {
        var options = HostedRooms.Options()
        options.level = .newest
        return options
    }

    private func window(_ number: UInt64, _ hosted: HostedRooms) throws -> RoomRequest {
        let batch = TapBatch(life: 9, window: number, sums: [TallyCount(key: Tally.like, count: 5)], of: nil)
        var request = try hosted.call("owner", .taps(batch))
        request.session?.request = nil
        return request
    }

    private func answers(to number: UInt64, _ hosted: HostedRooms) -> [Result<[Int64], ChatError>] {
        hosted.told.all.compactMap { if case .taps(number, let result) = $0 { result } else { nil } }
    }

    private func answered(_ number: UInt64, times: Int = 1, _ hosted: HostedRooms) async throws {
        try await poll("the answer to window \(number)") { answers(to: number, hosted).count >= times }
    }

    private func set(_ settings: TallySettings, _ hosted: HostedRooms) async throws {
        _ = try await hosted.served { () async throws(ChatError) in
            try await hosted.calls.perform(
                .tally(key: "gifts", .set(settings)), in: HostedRooms.room, as: .system, id: nil)
        }
    }

    @Test func `a window that comes again while it is on its way through the log is proposed once`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"))
            let first = try window(1, hosted)
            hosted.rooms.receive([first, first, first])
            try await answered(1, hosted)
            hosted.rooms.receive([try window(2, hosted)])
            try await answered(2, hosted)
            #expect(answers(to: 1, hosted) == [.success([5])])
            #expect(answers(to: 2, hosted) == [.success([10])])
            // One that was counted is answered each time.
            hosted.rooms.receive([try window(2, hosted)])
            try await answered(2, times: 2, hosted)
            #expect(answers(to: 2, hosted) == [.success([10]), .success([10])])
        }
    }

    @Test func `a window that was refused may come again`() async throws {
        try await HostedRooms.run(try TemporaryDirectory(), Self.options()) { hosted in
            try await hosted.createRoom()
            _ = try await hosted.calls.perform(
                .closeRoom(NotifyOptions()), in: HostedRooms.room, as: .system, id: nil)
            hosted.rooms.receive([try window(1, hosted)])
            try await answered(1, hosted)
            guard case .failure(let error)? = answers(to: 1, hosted).first else {
                Issue.record("a closed room counts taps")
                return
            }
            #expect(error.code == .roomClosed)
            _ = try await hosted.calls.perform(.reopenRoom, in: HostedRooms.room, as: .system, id: nil)
            hosted.rooms.receive([try window(1, hosted)])
            try await answered(1, times: 2, hosted)
            #expect(answers(to: 1, hosted).last == .success([5]))
        }
    }

    @Test func `a total of 0 is told by a new leader, too`() async throws {
        let directory = try TemporaryDirectory()
        try await HostedRooms.run(directory, Self.options()) { hosted in
            try await hosted.createRoom()
            try await set(TallySettings(total: 7, by: .server), hosted)
            try await set(TallySettings(total: 0), hosted)
        }
        try await HostedRooms.run(directory, create: false, Self.options()) { hosted in
            await hosted.told.led(times: 1)
            let stay = SessionStay(profile: Profile(), enteredAt: HostedRooms.now())
            var announce = try hosted.call("owner", .announce(stay))
            var follow = try hosted.call("owner", .follow(StreamPlace(epoch: "", seq: .max)))
            announce.session?.request = nil
            follow.session?.request = nil
            follow.session?.number = 9
            hosted.rooms.receive([announce, follow])
            func isFollowing(_ output: RoomOutput) -> Bool {
                if case .following(9, _) = output { true } else { false }
            }
            try await poll("the leader goes on") { hosted.told.all.contains(where: isFollowing) }
            let totals = totals(hosted)
            #expect(totals.count == 1 && totals.first?.contains(#""totals":{"gifts":0}"#) == true, "\(totals)")
        }
    }

    /// The frames of totals that the lane was told.
    private func totals(_ hosted: HostedRooms) -> [String] {
        hosted.told.all.compactMap { output in
            guard case .frame(let frame) = output, frame.traffic == .totals, let json = frame.json else { return nil }
            return String(decoding: json, as: UTF8.self)
        }
    }

    @Test func `lanes are told what there is when a tally was removed, and forget it`() async throws {
        var options = Self.options()
        options.policy.tallyPushMilliseconds = 1
        try await HostedRooms.run(try TemporaryDirectory(), options) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"))
            try await set(TallySettings(total: 7), hosted)
            try await poll("the total") { totals(hosted).contains { $0.contains(#""gifts":7"#) } }
            hosted.rooms.receive([try window(1, hosted)])
            try await poll("the taps") { totals(hosted).contains { $0.contains(#""like":5"#) } }
            let before = totals(hosted).count
            _ = try await hosted.calls.perform(
                .tally(key: "gifts", .remove), in: HostedRooms.room, as: .system, id: nil)
            try await poll("the restatement") { totals(hosted).count > before }
            let told = totals(hosted).dropFirst(before)
            #expect(told.count == 1 && told.first?.contains(#""totals":{}"#) == true, "\(told)")
            #expect(told.first?.contains(#""totals":{"like":5}"#) == true, "\(told)")
        }
    }
}
