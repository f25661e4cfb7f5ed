import ChatModel
import Foundation
import Testing
import Wire

extension IntegrationTests {
    /// A backup is made while people chat, and is restored into a new cluster.
    @Suite struct BackupTests {
        /// What the program says when it refuses to restore.
        private func refusal(_ node: TestNode, _ directories: String...) async throws -> String {
            let end = try await Program(
                "chatroomd", ["--config", node.configPath] + directories.flatMap { ["--restore", $0] }
            ).ended()
            #expect(end.status > 0 && end.status < 128, "\(end.errors)")
            return end.errors
        }

        /// Makes a backup; the directory of its one part.
        private func backUp(_ node: TestNode) async throws -> String {
            let answer = try await node.api("POST", "/v1/backup")
            #expect(answer.status == 200, "\(answer)")
            let copies = try #require(try answer.fields()["copies"] as? [[String: Any]])
            #expect(copies.count == 1 && copies[0]["node"] as? String == "n1")
            #expect(try #require(copies[0]["bytes"] as? Int) > 0)
            return try #require(copies[0]["directory"] as? String)
        }

        @Test func `everything acked before a backup is there after a restore, in rooms with other epochs`()
            async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("live", fields: #","name":"The room""#)
                let ann = try await TestClient.connected(node, "ann")
                let before = try await ann.enter(room)
                let oops = try await ann.send(room, "oops")
                try await ann.done(.recall(RecallRequest(room: room, messageID: oops.messageID)))
                try await ann.set(room, "song", "first")
                let mute = try await node.api("PUT", "/v1/rooms/live/members/bob/mute", #"{"enable":true}"#)
                #expect(mute.status == 200, "\(mute)")
                for number in 1...20 { try await ann.send(room, "message \(number)") }
                let kept = try await ann.wholeHistory(room)

                let eve = try await TestClient.entered(node, "eve", room)
                let load = Task { while !Task.isCancelled { try await eve.send(room, "later") } }
                let directory = try await backUp(node)
                load.cancel()
                _ = await load.result
                await node.kill()

                let other = try TestNode()
                let end = try await Program("chatroomctl", ["restore", "--config", other.configPath, directory]).ended()
                #expect(end.status == 0 && end.output.contains("chatroomd --config"), "\(end.output) \(end.errors)")
                try await other.start()
                // Over another start too.
                for start in 1...2 {
                    let viewer = try await TestClient.connected(other, "ann")
                    let entered = try await viewer.enter(room, since: before.seq, epoch: before.epoch)
                    #expect(entered.epoch != before.epoch && entered.recovered == false && entered.missed == nil)
                    let info = try await other.api("GET", "/v1/rooms/live").fields()
                    #expect(info["name"] as? String == "The room" && info["leader"] as? String == "n1")
                    let history = try await viewer.wholeHistory(room)
                    #expect(Array(history.prefix(kept.count)) == kept)
                    #expect(history.contains { $0.messageID == oops.messageID && $0.isRecalled })
                    #expect(try await viewer.queue(room).map(\.value) == ["first"])
                    let bob = try await TestClient.entered(other, "bob", room)
                    #expect(try await bob.refusal(of: .text(room, "x")).code == .muted)
                    let last = try #require(try await viewer.newest(room)?.seq)
                    try await viewer.send(room, "after \(start)")
                    #expect(try #require(try await viewer.newest(room)?.seq) > last)
                    let again = try await viewer.enter(room, since: last, epoch: entered.epoch)
                    #expect(again.recovered == true && again.epoch == entered.epoch)
                    await other.kill()
                    if start == 1 { try await other.start() }
                }
            }
        }

        @Test func `a restore is refused where there is data, and from what is no whole backup`() async throws {
            try await TestNode.run { node in
                let whole = try await backUp(node)
                #expect(try await refusal(node, whole).contains("exists already"))
                let other = try TestNode()
                #expect(try await refusal(other, node.dataPath).contains("is no backup"))
                let second = try await backUp(node)
                #expect(try await refusal(other, whole, second).contains("are not of one backup"))

                let path = second + "/backup.json"
                var manifest = try #require(
                    try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
                        as? [String: Any])
                let shards = try #require(manifest["shards"] as? [[String: Any]])
                manifest["shards"] = shards.filter { $0["number"] as? Int != 3 }
                try node.write(manifest, to: path, mode: 0o600)
                #expect(try await refusal(other, second).contains("shard 3 is missing"))
                manifest["shards"] = shards
                manifest["systemIndex"] = nil
                try node.write(manifest, to: path, mode: 0o600)
                #expect(try await refusal(other, second).contains("the system state is missing"))
                #expect(!FileManager.default.fileExists(atPath: other.dataPath))
            }
        }

        /// The regular files of a copy with what they hold, by their paths in it, without its `backup.json`.
        private func files(of directory: String) throws -> [String: Data] {
            var files: [String: Data] = [:]
            for name in try FileManager.default.subpathsOfDirectory(atPath: directory) where name != "backup.json" {
                var isDirectory: ObjCBool = false
                let path = directory + "/" + name
                guard FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory), !isDirectory.boolValue
                else { continue }
                files[name] = try Data(contentsOf: URL(fileURLWithPath: path))
            }
            return files
        }

        /// Restores into a new node, starts it, and reads a room's history there.
        private func restoredHistory(of room: RoomID, from directory: String) async throws -> [Message] {
            let node = try TestNode()
            let end = try await Program("chatroomd", ["--config", node.configPath, "--restore", directory]).ended()
            #expect(end.status == 0, "\(end.errors)")
            try await node.start()
            let viewer = try await TestClient.entered(node, "ann", room)
            let history = try await viewer.wholeHistory(room)
            await node.kill()
            return history
        }

        @Test func `a copy with a changed file is refused, and restored when it is as it was written`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("live")
                let ann = try await TestClient.entered(node, "ann", room)
                for number in 1...20 { try await ann.send(room, "message \(number)") }
                let kept = try await ann.wholeHistory(room)
                let ticket = try await ann.upload(room, MediaTests.png)
                #expect(try await node.transfer("PUT", ticket.url, body: MediaTests.png).status == 200)
                #expect(try await ann.naming(room, ticket.mediaID).refused == nil)
                let directory = try await backUp(node)
                await node.kill()

                let all = try files(of: directory)
                let path = directory + "/backup.json"
                var manifest = try #require(
                    try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
                        as? [String: Any])
                let noted = try #require(manifest["files"] as? [String: String])
                #expect(noted.keys.sorted() == all.keys.sorted())

                let text = Data("message 7".utf8)
                let history = try #require(
                    all.first { $0.key.contains("/history-") && $0.value.range(of: text) != nil })
                let catalogue = try #require(all.first { $0.key.contains("/catalogue") })
                let state = try #require(all.first { $0.key == "system/state" })
                let media = try #require(all.first { $0.key.hasPrefix("media/") })
                let other = try TestNode()
                for (name, whole) in [history, catalogue, state, media] {
                    let file = URL(fileURLWithPath: directory + "/" + name)
                    var changed = whole
                    changed[whole.range(of: text)?.lowerBound ?? whole.count / 2] ^= 1
                    for bytes in [changed, whole.dropLast()] {
                        try bytes.write(to: file)
                        let sentence = try await refusal(other, directory)
                        #expect(sentence.contains("\(file.path) in the copy of node n1: differs"), "\(sentence)")
                        #expect(sentence.contains("from backup.json: \(bytes.count) bytes with"), "\(sentence)")
                    }
                    try FileManager.default.removeItem(at: file)
                    let sentence = try await refusal(other, directory)
                    #expect(sentence.contains("\(name) in the copy of node n1: differs"), "\(sentence)")
                    #expect(sentence.contains("from backup.json: no file instead of"), "\(sentence)")
                    try whole.write(to: file)
                }
                #expect(!FileManager.default.fileExists(atPath: other.dataPath))

                #expect(try await restoredHistory(of: room, from: directory).starts(with: kept))
                // The restore has only read the copy. One of an earlier program has no sums.
                #expect(try files(of: directory) == all)
                manifest["files"] = nil
                try node.write(manifest, to: path, mode: 0o600)
                #expect(try await restoredHistory(of: room, from: directory).starts(with: kept))
            }
        }
    }
}
