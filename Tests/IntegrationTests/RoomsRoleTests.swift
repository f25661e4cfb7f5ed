import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Roles, mutes, kicks and the blacklist as clients use them (PROTOCOL.md, "Roles", "Mutes", "Kick and blacklist").
    @Suite struct RoomsRoleTests {
        private func flag(_ room: RoomID, _ name: String, _ enable: Bool) throws -> UserFlagRequest {
            UserFlagRequest(room: room, user: try user(name), enable: enable)
        }

        private func member(_ result: OperationResult) throws -> Member {
            switch result {
            case .setManager(let it), .setMember(let it), .setBlacklist(let it), .setMute(let it), .tempMute(let it),
                .updateMe(let it):
                return it.member
            default: throw TestFailure("no member: \(result)")
            }
        }

        /// The message that tells of an event about a user, once it has come.
        private func told(
            _ event: EventCode, of name: String, to client: TestClient, from start: Int = 0
        ) async throws -> Message {
            try await client.item("notification \(event.rawValue) of \(name)", from: start) { item -> Message? in
                guard case .push(.message(let message)) = item, let notification = message.notification,
                    notification.event == event, notification.targets.contains(where: { $0.user.text == name })
                else { return nil }
                return message
            }
        }

        @Test func `a temporary mute ends on time, also over a restart`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("times", creator: "owner")
                var owner = try await TestClient.entered(node, "owner", room)
                var bob = try await TestClient.entered(node, "bob", room)
                for seconds in [-1, 30 * 86_400 + 1] as [Int64] {
                    let request = TempMuteRequest(room: room, user: try user("bob"), seconds: seconds)
                    #expect(try await owner.refusal(of: .tempMute(request)).code == .badParameter)
                }
                let long = TempMuteRequest(room: room, user: try user("bob"), seconds: 30 * 86_400)
                #expect(try member(try await owner.done(.tempMute(long))).tempMuteSeconds == 30 * 86_400)
                try await owner.done(.tempMute(TempMuteRequest(room: room, user: try user("bob"), seconds: 0)))
                let lifted = try await bob.event(.temporaryMuteLifted)
                #expect(lifted.notification?.operator?.user.text == "owner")

                // A fixed member with a nick of his own, which the end of his mute shows though he is away.
                try await owner.done(.setMember(flag(room, "eve", true)))
                let eve = try await TestClient.entered(node, "eve", room)
                let named = UpdateMeRequest(room: room, set: ProfileChanges(nick: "Eve"), save: true)
                try await eve.done(.updateMe(named))
                // Bob's lasts however long the restart takes; eve's may end before it, meanwhile or afterwards.
                try await owner.done(.tempMute(TempMuteRequest(room: room, user: try user("bob"), seconds: 600)))
                try await owner.done(.tempMute(TempMuteRequest(room: room, user: try user("eve"), seconds: 2)))
                let muted = try await told(.temporarilyMuted, of: "eve", to: owner)
                #expect(muted.notification?.data == .seconds(2))
                await node.kill()
                try await node.start()
                owner = try await TestClient.entered(node, "owner", room)
                bob = try await TestClient.entered(node, "bob", room)
                let refusal = try await bob.refusal(of: .text(room, "too early"))
                #expect(refusal.code == .muted && (1...600_000).contains(refusal.retryAfterMs ?? 0), "\(refusal)")
                var kept: Message?
                try await poll("the end of eve's mute") {
                    kept = try await owner.wholeHistory(room).first { message in
                        message.notification?.event == .temporaryMuteLifted
                            && message.notification?.targets.first?.user.text == "eve"
                    }
                    return kept != nil
                }
                let ended = try #require(kept)
                #expect(ended.notification?.operator == nil)
                #expect(ended.notification?.targets == [UserName(user: try user("eve"), nick: "Eve")])
                #expect(ended.time.milliseconds >= muted.time.milliseconds + 2000)
                #expect(try await owner.members(room, .muted).map(\.user.text) == ["bob"])

                // A shorter one takes the longer one's place.
                try await owner.done(.tempMute(TempMuteRequest(room: room, user: try user("bob"), seconds: 1)))
                let begun = try await told(.temporarilyMuted, of: "bob", to: owner)
                let over = try await told(.temporaryMuteLifted, of: "bob", to: bob)
                #expect(over.notification?.operator == nil)
                #expect(over.notification?.targets == [UserName(user: try user("bob"), nick: "nick of bob")])
                #expect(over.time.milliseconds >= begun.time.milliseconds + 1000)
                try await bob.send(room, "at last")
                #expect(try await owner.members(room, .muted).isEmpty)
            }
        }
    }
}
