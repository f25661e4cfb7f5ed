import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests.ClusterTests {
    /// What holds for a session, at whichever node its client comes back.
    @Suite(AskingAgain()) struct SessionRules {
        @Test func `who is kicked during the grace is told so at another node, with reason and ext`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("grace-kick")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let watcher = try await TestClient.entered(leader, "watcher", room)
            let nodes = [leader, follower, other]
            for (turn, home) in nodes.enumerated() {
                let name = "kicked\(turn)"
                let ann = try await TestClient.entered(home, name, room)
                try await ann.drop()
                try await poll("\(name) is away") {
                    let body = try await home.api("GET", "/v1/users/\(name)/sessions").body
                    return body.contains(#""user":"\#(name)""#) && !body.contains(#""connected":true"#)
                }
                let path = "/v1/rooms/\(room)/members/\(name)/kick"
                #expect(try await leader.api("POST", path, #"{"notifyExt":"why"}"#).status == 200)
                try await watcher.notification(.kicked, of: name)
                let next = try #require(nodes.first { $0 !== home })
                let back = try await TestClient.open(port: next.clientPort)
                let result = try await back.connect(token: next.token(name), session: ann.session)
                #expect(result.resumed)
                let push = try await back.kicked(from: room)
                #expect(push.reason == .byManager && push.ext == "why")
            }
        }

        @Test func `a narrower token given by a takeover at another node ends the stay in the other rooms`()
            async throws
        {
            let cluster = try await TestCluster.whole()
            let (one, two) = (try await cluster.room("narrow-1"), try await cluster.room("narrow-2"))
            let (leader, follower, other) = try await cluster.roles(in: two)
            let watcher = try await TestClient.entered(leader, "watcher", two)
            let ann = try await TestClient.connected(follower, "narrowed")
            for room in [one, two] { try await ann.enter(room) }
            let newer = try await TestClient.connected(
                other, "narrowed", session: ann.session, rooms: [one.text])
            #expect(try await newer.kicked(from: two).reason == .tokenRevoked)
            try await watcher.notification(.exit, of: "narrowed")
            try await newer.enter(one)
            try await newer.send(one, "still here")
        }
    }
}
