import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests.ClusterTests {
    /// What a room knows, and what any node answers, when its leader is another node or has died.
    @Suite(AskingAgain()) struct State {
        @Test func `seats, presence, mutes and first results survive the leader`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("state")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let seated = try await TestClient.entered(follower, "seated", room)
            let muted = try await TestClient.entered(other, "muted", room)
            let doomed = try await TestClient.entered(leader, "doomed", room)
            _ = try await TestClient.entered(leader, "away", room)
            try await seated.set(room, "seat", "mic", transient: true)
            try await doomed.set(room, "other", "mic", transient: true)
            #expect(
                try await other.api("PUT", "/v1/rooms/\(room)/members/muted/mute", #"{"enable":true}"#).status == 200)
            try await seated.notification(.muted, of: "muted")
            let first = try await seated.send(room, "once", clientID: "once")
            let seen = await muted.items.count

            await leader.kill()
            let again = try await retrying("a send") { try await seated.send(room, "once", clientID: "once") }
            #expect(again == first, "a repeated clientId gets the first result")
            try await retrying("a send") { _ = try await seated.send(room, "after") }
            try await muted.message("after", from: seen)
            #expect(try await muted.refusal(of: .text(room, "hm")).code == .muted)
            let queue = try await muted.queue(room)
            #expect(queue.map(\.key) == ["seat", "other"])
            #expect(queue.map(\.owner.text) == ["seated", "doomed"])
            #expect(queue.map(\.held) == [false, true], "held is whose owner's gateway has died")
            // Whoever comes back within the grace keeps the place.
            let back = try await TestClient.entered(follower, "away", room)
            try await seated.event(.queueBatchChanged)
            #expect(try await back.queue(room).map(\.key) == ["seat"])
            try await poll("three are here") {
                try await other.api("GET", "/v1/rooms/\(room)").fields()["online"] as? Int == 3
            }
            #expect(await seated.events(of: room, about: "seated") == [.enter])
            // Who is muted is a guest like others to a guest.
            #expect(Set(try await back.members(room).map(\.user.text)) == ["seated", "away", "muted"])
            try await cluster.mend(3)
        }

        @Test func `who was at a node that has died has left when the grace is over, or comes back before`()
            async throws
        {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("grace")
            let (leader, follower, _) = try await cluster.roles(in: room)
            let viewer = try await TestClient.entered(leader, "viewer", room)
            _ = try await TestClient.entered(follower, "doomed", room)
            let returning = try await TestClient.entered(follower, "returning", room)
            try await returning.set(room, "seat", "mic", transient: true)
            let online = try await leader.api("GET", "/v1/rooms/\(room)").fields()["online"] as? Int
            #expect(online == 3)
            await follower.kill()
            let back = try await TestClient.entered(leader, "returning", room)
            // Leadership is not given back meanwhile, to a node that has never heard of who does not come back.
            try await viewer.notification(.exit, of: "doomed")
            try await poll("two are here") {
                try await leader.api("GET", "/v1/rooms/\(room)").fields()["online"] as? Int == 2
            }
            #expect(Set(try await back.members(room).map(\.user.text)) == ["viewer", "returning"])
            #expect(try await back.queue(room).map(\.held) == [false])
            #expect(await viewer.events(of: room, about: "returning").filter { $0 == .exit }.isEmpty)
            try await cluster.mend(3)
        }

        @Test func `a node that leads nothing answers for the whole cluster`() async throws {
            let cluster = try await TestCluster.whole()
            let node = cluster.nodes[2]
            for shard in try await cluster.shards() where shard.leader == "n3" {
                try await cluster.transfer(shard.shard, to: cluster.nodes[shard.shard % 2])
            }
            let names = try await ["one", "two", "three", "four"].asyncMap { try await cluster.room($0, at: node) }
            let room = names[0]
            // Where n3 belongs it is given the leadership back, but by nobody who has led for less than ten seconds.
            let former = try await cluster.leader(of: room, at: node)
            let heir = former === cluster.nodes[0] ? cluster.nodes[1] : cluster.nodes[0]
            try await cluster.transfer(room, to: heir)
            try await poll("n3 knows who leads \(room)") { try await cluster.leader(of: room, at: node) === heir }
            #expect(try await cluster.leader(of: room, at: node) !== node)
            let leader = try await cluster.leader(of: room, at: node)
            let ann = try await TestClient.entered(leader, "ann", room)

            let key = ["Idempotency-Key": "\(room)-1"]
            let body = #"{"type":"TEXT","text":"hello","sender":"staff"}"#
            let sent = try await node.api("POST", "/v1/rooms/\(room)/messages", body, headers: key)
            #expect(sent.status == 200)
            #expect(try await leader.api("POST", "/v1/rooms/\(room)/messages", body, headers: key).body == sent.body)
            try await ann.message("hello")
            let item = try await node.api("POST", "/v1/rooms/\(room)/barrage", #"{"text":"over there"}"#)
            #expect(item.status == 200, "\(item)")
            let unkept = #"{"type":"TEXT","text":"to take back","sender":"staff"}"#
            let other = try await node.api("POST", "/v1/rooms/\(room)/messages", unkept).fields()
            let messageID = try #require(other["messageId"] as? String)
            let recall = "/v1/rooms/\(room)/messages/\(messageID)/recall"
            #expect(try await node.api("POST", recall).status == 200)
            let history =
                try await node.api("GET", "/v1/rooms/\(room)/messages").fields()["messages"] as? [[String: Any]]
            // The newest first: the recall's own, what is left of the recalled one, and the first.
            #expect(history?.count == 3 && history?.last?["text"] as? String == "hello")
            let again = try await node.api("POST", "/v1/rooms", #"{"id":"\#(room)","creator":"owner"}"#)
            #expect(again.status == 409)

            for asked in cluster.nodes {
                var listed: [String] = []
                var after = ""
                while true {
                    let page = try await asked.api("GET", "/v1/rooms?limit=2\(after)").fields()
                    listed += (page["rooms"] as? [[String: Any]] ?? []).compactMap { $0["id"] as? String }
                    guard let next = page["next"] as? String else { break }
                    after = "&after=\(next)"
                }
                #expect(Set(names.map(\.text)).isSubset(of: listed))
                #expect(Set(listed).count == listed.count && listed == listed.sorted())
            }

            let sessions = try await node.api("GET", "/v1/users/ann/sessions").fields()["sessions"] as? [[String: Any]]
            #expect(sessions?.first?["node"] as? String == cluster.name(of: leader))
            let direct = #"{"type":"TEXT","text":"you"}"#
            #expect(try await node.api("POST", "/v1/users/ann/messages", direct).fields()["sessions"] as? Int == 1)
            #expect(try await node.api("POST", "/v1/users/ann/offline").fields()["sessions"] as? Int == 1)
            #expect(try await ann.closing() == 4403)
            let back = try await TestClient.entered(leader, "ann", room)
            #expect(try await node.api("POST", "/v1/users/ann/revoke").status == 200)
            try await back.kicked(from: room)
            #expect(try await back.closing() == 4401)
            // Whoever was not needed for the majority hears of it a moment later.
            for asked in cluster.nodes {
                var token = TestToken()
                token.claims["iat"] = Int(Date().timeIntervalSince1970) - 60
                let old = try token.signed()
                try await poll("\(cluster.name(of: asked)) refuses the old token") {
                    let client = try await TestClient.open(port: asked.clientPort)
                    let answer = try? await client.ask(.connect(ConnectRequest(token: old)))
                    await client.socket.close()
                    guard case .failure(let refusal)? = answer else { return false }
                    return refusal.code == .unauthorized
                }
            }
        }
    }

    /// Promised by PROTOCOL.md, "Audit": any node tells it for all of them, and it is on two nodes.
    @Test func `the audit of a node that is gone is told by the others, found by room, call and key`() async throws {
        let cluster = try await TestCluster.whole()
        let room = try await cluster.room("audited")
        let (asked, others) = (cluster.nodes[0], Array(cluster.nodes.dropFirst()))
        #expect(try await asked.api("POST", "/v1/rooms/\(room)/close").status == 200)
        #expect(try await asked.api("POST", "/v1/rooms/\(room)/reopen").status == 200)
        #expect(try await others[0].api("POST", "/v1/rooms/\(room)/close").status == 200)
        func told(by node: TestNode, _ query: String) async throws -> (calls: [String], missing: [String]) {
            let page = try await node.api("GET", "/v1/audit?room=\(room)\(query)").fields()
            let calls = (page["items"] as? [[String: Any]] ?? []).map { item in
                "\(item["action"] as? String ?? "?") at \(item["node"] as? String ?? "?")"
            }
            return (calls.filter { !$0.hasPrefix("createRoom") }, page["missing"] as? [String] ?? [])
        }
        let all = ["closeRoom at n2", "reopenRoom at n1", "closeRoom at n1"]
        for node in cluster.nodes {
            try await poll("\(cluster.name(of: node)) tells all") { try await told(by: node, "").calls == all }
        }
        #expect(try await told(by: others[1], "&action=closeRoom&actor=admin").calls == [all[0], all[2]])
        #expect(try await told(by: others[1], "&actor=nobody").calls == [])
        let first = try await others[1].api("GET", "/v1/audit?room=\(room)&limit=1").fields()
        let next = try #require(first["next"] as? String)
        #expect(try await told(by: others[0], "&after=\(next)&limit=1").calls == [all[1]])

        // By a stop the last copy is made; `kill -9` would leave a second.
        _ = try await asked.stop()
        for node in others {
            try await poll("\(cluster.name(of: node)) tells the copies") {
                let page = try await told(by: node, "")
                return page.calls == all && page.missing == ["n1"]
            }
        }
        try await cluster.start([asked])
    }
}
