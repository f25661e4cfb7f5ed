import ChatModel
import Foundation
import Testing
import Wire

extension IntegrationTests {
    /// What a session may do, what it is told, and what of it goes along when its client comes back.
    @Suite struct SessionRuleTests {
        @Test func `a token that lives for more than 366 days is refused, by its iat where it has one`() async throws {
            try await TestNode.run { node in
                let now = Int(Date().timeIntervalSince1970)
                func closes(_ claims: [String: Any]) async throws -> Bool {
                    var token = TestToken()
                    token.claims = claims
                    token.claims["sub"] = "ann"
                    let client = try await TestClient.open(port: node.clientPort)
                    switch try await client.ask(.connect(ConnectRequest(token: try token.signed()))) {
                    case .success: return false
                    case .failure(let error):
                        #expect(error.code == .unauthorized)
                        #expect(try await client.closing() == 4401)
                        return true
                    }
                }
                let day = 86_400
                #expect(try await closes(["exp": now + 367 * day]))
                #expect(try await closes(["exp": now + 10 * day, "iat": now - 360 * day]))
                #expect(try await !closes(["exp": now + 365 * day]))
                #expect(try await !closes(["exp": now + 5 * day, "iat": now - 360 * day]))
                // The longest that the server API issues is accepted.
                let answer = try await node.api("POST", "/v1/users/ann/token", #"{"ttlSeconds":31622400}"#)
                let issued = try #require(
                    answer.body.split(separator: #""token":""#).last?.split(separator: "\"").first)
                try await TestClient.open(port: node.clientPort).connect(token: String(issued))
                #expect(try await node.api("POST", "/v1/users/ann/token", #"{"ttlSeconds":31622401}"#).status == 400)
            }
        }

        // MARK: - What others see

        @Test func `mutes and the blacklist are shown to managers and to oneself only`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("secret", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let muted = try await TestClient.entered(node, "muted", room)
                let guest = try await TestClient.entered(node, "guest", room)
                for name in ["muted", "away"] {
                    try await owner.done(.setMute(UserFlagRequest(room: room, user: try user(name), enable: true)))
                }
                try await owner.done(.tempMute(TempMuteRequest(room: room, user: try user("muted"), seconds: 600)))
                try await owner.done(
                    .setBlacklist(BlacklistRequest(room: room, user: try user("barred"), enable: true)))

                func byID(_ client: TestClient) async throws -> [Member] {
                    let users = try ["muted", "away", "barred"].map { try user($0) }
                    guard
                        case .membersById(let result) = try await client.done(
                            .membersById(MembersByIDRequest(room: room, users: users)))
                    else { throw TestFailure("another result") }
                    return result.members
                }
                let seen = try await byID(guest)
                #expect(seen.map(\.user.text) == ["muted"], "who is away and has only flags is not there")
                #expect(seen.allSatisfy { $0 == $0.shownToOthers } && seen.first?.role == .guest)
                let whole = try await byID(owner)
                #expect(whole.map(\.role) == [.restricted, .restricted, .restricted])
                #expect(whole.map(\.muted) == [true, true, false] && whole.map(\.blacklisted) == [false, false, true])
                let own = try await byID(muted)
                #expect(own.count == 1 && own.first?.muted == true && own.first?.tempMuted == true)

                #expect(try await guest.members(room, .fixed).map(\.user.text) == ["owner"])
                #expect(
                    try await Set(owner.members(room, .fixed).map(\.user.text)) == ["owner", "muted", "away", "barred"])
                #expect(try await Set(guest.members(room, .temporary).map(\.user.text)) == ["guest", "muted"])
                #expect(try await guest.members(room, .temporary).allSatisfy { $0 == $0.shownToOthers })
                for kind in [MemberKind.muted, .blacklisted, .banned] {
                    let error = try await guest.refusal(of: .members(MembersRequest(room: room, kind: kind)))
                    #expect(error.code == .forbidden)
                }
            }
        }

        // MARK: - Kicks and bans

        @Test func `an anonymous member who is blacklisted stays out, and so does the address until that is lifted`()
            async throws
        {
            try await TestNode.run { node in
                let (room, other) = (try await node.createRoom("out"), try await node.createRoom("other"))
                func anonymous(_ session: SessionID? = nil) async throws -> (TestClient, ConnectResult) {
                    let client = try await TestClient.open(port: node.clientPort)
                    return (client, try await client.connect(ConnectRequest(anonymous: true, session: session)))
                }
                func entry(_ room: RoomID) -> EnterRequest {
                    var request = EnterRequest(room: room)
                    (request.nick, request.avatar) = ("A", "https://a")
                    return request
                }
                let (client, connected) = try await anonymous()
                try await client.enter(entry(room))
                let path = "/v1/rooms/out/members/\(connected.user.text)/blacklist"
                #expect(try await node.api("PUT", path, #"{"enable":true}"#).status == 200)
                #expect(try await client.kicked(from: room).reason == .blacklisted)
                let own = try await client.refusal(of: .enter(entry(room)))
                #expect(own.code == .blacklisted && own.retryAfterMs == nil)
                let (resumed, again) = try await anonymous(connected.session)
                #expect(again.resumed)
                #expect(try await resumed.refusal(of: .enter(entry(room))).retryAfterMs == nil)
                // A new session from there waits; other rooms are open to it, and the room to users.
                let (newcomer, _) = try await anonymous()
                let error = try await newcomer.refusal(of: .enter(entry(room)))
                #expect(error.code == .blacklisted && (1...600_000).contains(error.retryAfterMs ?? 0))
                try await newcomer.enter(entry(other))
                _ = try await TestClient.entered(node, "ann", room)
                #expect(try await node.api("PUT", path, #"{"enable":false}"#).status == 200)
                try await newcomer.enter(entry(room))
                try await resumed.enter(entry(room))
            }
        }
    }
}
