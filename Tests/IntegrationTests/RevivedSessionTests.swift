import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests.ClusterTests {
    /// A session whose node has died or can't be reached, and whose client goes on with it at another node.
    @Suite(AskingAgain()) struct RevivedSessions {
        /// The enters and exits of wanda that others saw.
        private func comings(_ watcher: TestClient, _ room: RoomID) async -> [EventCode] {
            await watcher.events(of: room, about: "wanda").filter { $0 == .enter || $0 == .exit }
        }

        private func connect(_ node: TestNode, _ user: String?, _ session: SessionID) async throws -> (
            client: TestClient, result: ConnectResult
        ) {
            let client = try await TestClient.open(port: node.clientPort)
            var request = ConnectRequest(session: session)
            if let user { request.token = try node.token(user) } else { request.anonymous = true }
            return (client, try await client.connect(request))
        }

        @Test func `whose node was killed goes on at another one, with its seat, and nobody is told`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("revived")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let watcher = try await TestClient.entered(leader, "watcher", room)
            let holder = try await TestClient.connected(follower, "wanda")
            _ = try await TestClient.entered(follower, "xavier", room)
            let entered = try await holder.enter(room)
            try await holder.set(room, "seat", "mic", transient: true)
            let session = try #require(await holder.session)
            await follower.kill()
            try await watcher.send(room, "while away")
            let (back, result) = try await connect(other, "wanda", session)
            #expect(result.resumed && result.session == session)
            let again = try await back.enter(room, since: 0, epoch: entered.epoch)
            #expect(again.recovered == true && again.room.online == 3)
            let missed: [Message] = again.missed ?? []
            #expect(missed.compactMap(\.text) == ["while away"])
            #expect(try await back.queue(room).map(\.held) == [false])
            // Its numbers are others than those of its former life.
            try await back.send(room, "back")
            try await watcher.message("back")
            // Her copy that has died has the grace of xavier, who does not come back: no exit comes of its end.
            try await watcher.notification(.exit, of: "xavier")
            try await watcher.send(room, "after the grace")
            try await watcher.message("after the grace")
            #expect(await comings(watcher, room) == [.enter])
            #expect(try await back.queue(room).map(\.key) == ["seat"])
            try await cluster.start([follower])
        }

        @Test func `whose node led the room, too, goes on as it was, and who does not come back leaves`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("both")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let watcher = try await TestClient.entered(follower, "watcher", room)
            // A leader that is new tells of its sessions within a second, those of other tests too: what rises after that is
            // what this test does. Nothing tells that it has told all, so the figures have to stand still.
            var known = try await cluster.known(besides: leader)
            var unchanged = 0
            for _ in 0..<300 where unchanged < 25 {
                try await Task.sleep(for: .milliseconds(100))
                let now = try await cluster.known(besides: leader)
                unchanged = now == known ? unchanged + 1 : 0
                known = now
            }
            let holder = try await TestClient.entered(leader, "wanda", room)
            _ = try await TestClient.entered(leader, "xavier", room)
            let entered = try await holder.enter(room)
            try await holder.set(room, "seat", "mic", transient: true)
            let session = try #require(await holder.session)
            // It takes a tenth of a second. Sessions of other tests may leave meanwhile, so that there are no more.
            let end = ContinuousClock.now + .seconds(5)
            while ContinuousClock.now < end {
                let now = try await cluster.known(besides: leader)
                if zip(known, now).allSatisfy({ $1 >= $0 + 2 }) { break }
                try await Task.sleep(for: .milliseconds(20))
            }
            await leader.kill()
            try await poll("another node leads the room") { try await cluster.online(in: room, at: other) != nil }
            #expect(try await cluster.online(in: room, at: other) == 3)
            let (back, result) = try await connect(other, "wanda", session)
            #expect(result.resumed && result.session == session)
            let again = try await back.enter(room, since: 0, epoch: entered.epoch)
            #expect(again.recovered == true && again.room.online == 3)
            #expect(again.me.profile.nick == "nick of wanda")
            #expect(try await back.queue(room).map(\.held) == [false])
            try await poll("xavier has left") {
                await watcher.events(of: room, about: "xavier").last == .exit
            }
            #expect(await watcher.events(of: room, about: "xavier") == [.enter, .exit])
            #expect(await comings(watcher, room) == [.enter])
            #expect(try await back.queue(room).map(\.key) == ["seat"])
            #expect(try await cluster.online(in: room, at: other) == 2)
            try await cluster.start([leader])
        }

        @Test func `in no room, or an anonymous one, is the same one elsewhere, and nobody else's`() async throws {
            let cluster = try await TestCluster.whole()
            let (first, second) = (cluster.nodes[0], cluster.nodes[1])
            let wanda = try await TestClient.connected(first, "wanda")
            let session = try #require(await wanda.session)
            let visitor = try await TestClient.open(port: first.clientPort)
            var request = ConnectRequest()
            request.anonymous = true
            let anonymous = try await visitor.connect(request)
            await first.kill()
            #expect(try await !connect(second, "mallory", session).result.resumed)
            #expect(try await !connect(second, nil, session).result.resumed)
            let back = try await connect(second, "wanda", session).result
            #expect(back.resumed && back.session == session)
            let again = try await connect(second, nil, anonymous.session).result
            #expect(again.resumed && again.session == anonymous.session && again.user == anonymous.user)
            try await cluster.start([first])
        }

        @Test func `that was revoked or banned begins anew, also while a third node is dead`() async throws {
            let cluster = try await TestCluster.whole()
            let (here, api, third) = (cluster.nodes[0], cluster.nodes[1], cluster.nodes[2])
            await third.kill()
            try await cluster.ready([here, api])
            for (user, code) in [("revoked", 4401), ("barred", 4403)] as [(String, UInt16)] {
                let client = try await TestClient.connected(here, user)
                let session = try #require(await client.session)
                if user == "revoked" {
                    #expect(try await api.api("POST", "/v1/users/\(user)/revoke").status == 200)
                } else {
                    #expect(try await api.api("PUT", "/v1/users/\(user)/ban", #"{"seconds":3600}"#).status == 200)
                }
                #expect(try await client.closing() == code)
                if user == "barred" {
                    #expect(try await api.api("PUT", "/v1/users/\(user)/ban", #"{"seconds":0}"#).status == 200)
                }
                let issued = try await api.api("POST", "/v1/users/\(user)/token", "{}").fields()["token"] as? String
                for node in [here, api] {
                    let back = try await TestClient.open(port: node.clientPort)
                    let result = try await back.connect(ConnectRequest(token: issued, session: session))
                    #expect(!result.resumed && result.session != session, "\(user)")
                }
            }
            try await cluster.start([third])
        }

        @Test(arguments: ["revoke", "offline", "ban"])
        func `that is ended while its room's leader is dead leaves the room and its seat with the next one`(how: String)
            async throws
        {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("ended")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let watcher = try await TestClient.entered(other, "watcher", room)
            let user = "wanda-\(how)"
            let holder = try await TestClient.entered(follower, user, room)
            try await holder.set(room, "seat", "mic", transient: true)
            leader.pause()
            let ended = Task {
                // The node that stands still may have led the system group, too.
                try await poll("the call is accepted") {
                    let answer =
                        how == "ban"
                        ? try await other.api("PUT", "/v1/users/\(user)/ban", #"{"seconds":3600}"#)
                        : try await other.api("POST", "/v1/users/\(user)/\(how)")
                    return answer.status == 200
                }
            }
            _ = try await holder.closing()
            // Others hear it before the grace is over, in which its user might have come back.
            try await watcher.notification(.exit, of: user)
            try await poll("the seat is free") { try await watcher.queue(room).isEmpty }
            leader.resume()
            try await ended.value
            #expect(await watcher.events(of: room, about: user).filter { $0 == .exit }.count == 1)
        }

        @Test func `whose node only stood still ends there with 4410, and is not told anything more`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("frozen")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let watcher = try await TestClient.entered(leader, "watcher", room)
            let holder = try await TestClient.connected(follower, "wanda")
            let entered = try await holder.enter(room)
            let session = try #require(await holder.session)
            follower.pause()
            let (back, result) = try await connect(other, "wanda", session)
            #expect(result.resumed && result.session == session)
            let again = try await back.enter(room, since: 0, epoch: entered.epoch)
            #expect(again.recovered == true && again.room.online == 2)
            try await watcher.send(room, "since")
            try await back.message("since")
            follower.resume()
            #expect(try await holder.closing() == 4410)
            #expect(await holder.texts(of: room) == [])
            try await back.send(room, "still here")
            try await watcher.message("still here")
            #expect(await comings(watcher, room) == [.enter])
        }
    }
}

extension TestCluster {
    /// How many sessions at the nodes of rooms' leaders the nodes but that one know of.
    fileprivate func known(besides leader: TestNode) async throws -> [Double] {
        var known: [Double] = []
        for node in others(than: leader) { known.append(try await node.metric("chatroom_sessions_replicated ")) }
        return known
    }

    /// How many are in the room; nil while nobody leads it.
    fileprivate func online(in room: RoomID, at node: TestNode) async throws -> Int64? {
        let answer = try await node.api("GET", "/v1/rooms/\(room)")
        guard answer.status == 200 else { return nil }
        return try JSONDecoder().decode(Online.self, from: Data(answer.body.utf8)).online
    }

    private struct Online: Decodable { var online: Int64 }
}
