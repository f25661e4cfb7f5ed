import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests.ClusterTests {
    /// A session whose client comes back at another node.
    @Suite(AskingAgain()) struct Sessions {
        @Test func `a session is taken over at another node, and back again, and nobody in the room is told`()
            async throws
        {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("moves")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let watcher = try await TestClient.entered(leader, "watcher", room)
            var holder = try await TestClient.connected(follower, "wanda")
            let entered = try await holder.enter(room)
            try await holder.set(room, "seat", "mic", transient: true)
            try await watcher.send(room, "first")
            var seq = try #require(try await watcher.message("first").seq)
            try await holder.message("first")
            let session = await holder.session
            for (turn, node) in [other, leader, follower, other, follower].enumerated() {
                let newer = try await TestClient.open(port: node.clientPort)
                let result = try await newer.connect(token: node.token("wanda"), session: session)
                #expect(result.resumed && result.session == session)
                #expect(try await holder.closing() == 4410)
                try await watcher.send(room, "turn \(turn)")
                let again = try await newer.enter(room, since: seq, epoch: entered.epoch)
                #expect(again.recovered == true)
                let missed: [Message] = again.missed ?? []
                #expect(missed.compactMap { $0.text } == ["turn \(turn)"])
                #expect(again.room.online == 2)
                #expect(try await newer.queue(room).map(\.held) == [false])
                // Its numbers go on: this is no repeat of what it has asked elsewhere.
                try await newer.send(room, "by wanda \(turn)")
                seq = try #require(try await watcher.message("by wanda \(turn)").seq)
                holder = newer
            }
            // After the grace those that have given it away see to its end, and look for that once a second. On each of
            // them another one begins its grace more than a look later, and leaves: an exit of this one would have come.
            let given = try await watcher.send(room, "given away").time
            try await poll("the nodes' next look") {
                try await watcher.send(room, "later").time >= given.adding(milliseconds: 1_500)
            }
            let names = ["late1", "late2", "late3"]
            for (name, node) in zip(names, [leader, follower, other]) {
                try await TestClient.entered(node, name, room).drop()
            }
            for name in names { try await watcher.notification(.exit, of: name) }
            try await watcher.send(room, "end")
            try await holder.message("end")
            try await watcher.message("end")
            #expect(await watcher.events(of: room, about: "wanda").filter { $0 == .enter || $0 == .exit } == [.enter])
            #expect(Set(try await holder.members(room).map(\.user.text)) == ["wanda", "watcher"])
            #expect(try await holder.queue(room).map(\.key) == ["seat"])
        }

        @Test func `who has had all unkept messages is told of none when the room's leader moves`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("signals")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let sender = try await TestClient.entered(leader, "sender", room)
            let viewers = [
                try await TestClient.entered(follower, "vera", room), try await TestClient.entered(other, "vito", room),
            ]
            for number in 1...5 {
                let draft = MessageDraft(body: .command(payload: [UInt8(number)]))
                _ = try await sender.ask(.send(SendRequest(room: room, clientID: "c\(number)", draft: draft))).get()
            }
            for viewer in viewers {
                _ = try await viewer.item("the last signal") { item -> Bool? in
                    if case .push(.message(let message)) = item, message.body == .command(payload: [5]) {
                        true
                    } else {
                        nil
                    }
                }
            }
            for next in [follower, other, leader] {
                try await cluster.transfer(room, to: next)
                try await sender.send(room, "led by \(cluster.name(of: next))")
                for viewer in viewers {
                    try await viewer.message("led by \(cluster.name(of: next))")
                    let told = await viewer.items.filter { if case .push(.skipped) = $0 { true } else { false } }
                    #expect(told.isEmpty)
                }
            }
        }

        @Test func `a dropped session is resumed at another node in its grace, and not by others`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("resumed")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let watcher = try await TestClient.entered(leader, "watcher", room)
            let ann = try await TestClient.connected(follower, "wanda")
            let entered = try await ann.enter(room)
            let session = await ann.session
            try await ann.drop()
            let mallory = try await TestClient.open(port: other.clientPort)
            let foreign = try await mallory.connect(token: other.token("mallory"), session: session)
            #expect(!foreign.resumed && foreign.session != session)
            let nobody = try await TestClient.open(port: other.clientPort)
            let unknown = try await nobody.connect(
                token: other.token("wanda"),
                session: SessionID(
                    secret: String(repeating: "x", count: SessionID.secretBytes), at: try #require(NodeID("n2"))))
            #expect(!unknown.resumed)
            try await watcher.send(room, "while away")
            let back = try await TestClient.open(port: other.clientPort)
            #expect(try await back.connect(token: other.token("wanda"), session: session).resumed)
            let again = try await back.enter(room, since: 0, epoch: entered.epoch)
            let missed: [Message] = again.missed ?? []
            #expect(again.recovered == true && missed.compactMap { $0.text } == ["while away"])
            #expect(again.room.online == 2)
            #expect(await watcher.events(of: room, about: "wanda") == [.enter])
        }
    }
}
