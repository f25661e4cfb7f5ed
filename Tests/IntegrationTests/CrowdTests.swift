import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// What a room tells of comings and goings when many are in it.
    @Suite struct CrowdTests {
        @Test func `up to the threshold a guest's enter is a 301, above it part of a 350`() async throws {
            try await TestNode.run(["rooms": ["digestAboveOnline": 3]]) { node in
                let room = try await node.createRoom("crowd", creator: "owner")
                #expect(
                    try await node.api("PUT", "/v1/rooms/crowd/members/fay/role", #"{"role":"NORMAL"}"#).status < 300)
                let watcher = try await TestClient.connected(node, "watcher")
                try await watcher.enter(room)
                for name in ["u2", "u3"] {
                    try await TestClient.connected(node, name).enter(room)
                    try await watcher.notification(.enter, of: name)
                }
                var guests: [TestClient] = []
                for number in 4...10 {
                    // A fixed member is told by name, also here. Before the last guest, whose digest then has the final
                    // count, whenever its tick comes.
                    if number == 10 {
                        try await TestClient.connected(node, "fay").enter(room)
                        try await watcher.notification(.enter, of: "fay")
                    }
                    let guest = try await TestClient.connected(node, "u\(number)")
                    var request = EnterRequest(room: room, nick: "nick \(number)")
                    if number == 10 { request.notifyExt = "by car" }
                    _ = try await guest.enter(request)
                    guests.append(guest)
                }
                try await digests(watcher, room) { $0.entered >= 7 }
                let told = await digests(of: watcher, room)
                #expect(told.reduce(0) { $0 + $1.entered } == 7)
                #expect(told.last?.online == 11)
                for digest in told {
                    #expect(digest.members.count <= 5)
                    if let index = digest.members.firstIndex(where: { $0.notifyExt != nil }) {
                        #expect(index == 0 && digest.members[0].notifyExt == "by car")
                        #expect(digest.members[0].profile.nick == "nick 10")
                    }
                }
                #expect(await watcher.events(of: room, about: "u10").isEmpty)

                // At the edge again: with four the exit is still a digest's, with three it is a 302.
                for guest in guests { _ = try await guest.ask(.exit(RoomNameRequest(room: room))).get() }
                try await digests(watcher, room) { $0.exited >= 7 }
                #expect(await watcher.events(of: room, about: "u4").isEmpty)
            }
        }

        private struct Digest {
            var entered: Int64
            var exited: Int64
            var online: Int64
            var members: [DigestMember]
        }

        private func digests(of client: TestClient, _ room: RoomID) async -> [Digest] {
            await client.messages(of: room).compactMap { message in
                guard message.seq == nil,
                    case .digest(let entered, let exited, let online, let members)? =
                        message.notification?.data
                else { return nil }
                return Digest(entered: entered, exited: exited, online: online, members: members)
            }
        }

        /// Waits until the digests together say so.
        private func digests(
            _ client: TestClient, _ room: RoomID, until isEnough: (Digest) -> Bool
        ) async throws {
            try await client.wait(for: "the digests") {
                let all = await digests(of: client, room).reduce(
                    into: Digest(entered: 0, exited: 0, online: 0, members: [])
                ) { ($0.entered, $0.exited) = ($0.entered + $1.entered, $0.exited + $1.exited) }
                return isEnough(all) ? () : nil
            }
        }
    }
}
