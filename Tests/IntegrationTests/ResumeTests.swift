import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// A session outlives its connection, and belongs to whoever knows it.
    @Suite struct ResumeTests {
        @Test(arguments: ClientEncoding.allCases)
        func `a session is taken over from an open connection`(_ encoding: ClientEncoding) async throws {
            try await TestNode.run(["loops": 2], encoding: encoding) { node in
                let room = try await node.createRoom("seats")
                let watcher = try await TestClient.connected(node, "watcher")
                try await watcher.enter(room)
                var holder = try await TestClient.connected(node, "ann")
                let entered = try await holder.enter(room)
                let session = await holder.session
                // Often enough that the session moves between loops and stays on one, too.
                for turn in 1...8 {
                    try await watcher.send(room, "before \(turn)")
                    let newer = try await TestClient.open(port: node.clientPort)
                    let result = try await newer.connect(token: node.token("ann"), session: session)
                    #expect(result.resumed && result.session == session)
                    #expect(try await holder.closing() == 4410)
                    try await watcher.send(room, "between \(turn)")
                    let seen = await holder.messages(of: room).compactMap(\.seq).last ?? 0
                    let since = max(seen, UInt64(2 * (turn - 1)))
                    let again = try await newer.enter(room, since: since, epoch: entered.epoch)
                    #expect(again.recovered == true && again.missedMore == false)
                    #expect((again.missed ?? []).compactMap(\.seq) == Array(since + 1..<UInt64(2 * turn + 1)))
                    #expect(again.room.online == 2)
                    holder = newer
                }
                try await watcher.send(room, "end")
                try await holder.message("end")
                #expect(await holder.texts(of: room) == ["end"])
                try await watcher.message("end")
                #expect(await watcher.events(of: room, about: "ann") == [.enter], "one enter, and nothing since")
                #expect(try await watcher.members(room).map(\.user.text).sorted() == ["ann", "watcher"])
            }
        }

        @Test(arguments: ClientEncoding.allCases)
        func `others cannot take a session over, and an unknown one is just a new one`(_ encoding: ClientEncoding)
            async throws
        {
            try await TestNode.run(encoding: encoding) { node in
                let room = try await node.createRoom("mine")
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                let session = await ann.session
                let mallory = try await TestClient.open(port: node.clientPort)
                let foreign = try await mallory.connect(token: node.token("mallory"), session: session)
                #expect(!foreign.resumed && foreign.session != session && foreign.user.text == "mallory")
                let nobody = try await TestClient.open(port: node.clientPort)
                let unnamed = try await nobody.connect(ConnectRequest(anonymous: true, session: session))
                #expect(!unnamed.resumed && unnamed.session != session && unnamed.anonymous)
                let other = try await TestClient.open(port: node.clientPort)
                let unknown = try await other.connect(token: node.token("ann"), session: SessionID("unknown"))
                #expect(!unknown.resumed && unknown.session != session)
                // An anonymous session is known by its secret alone, and not to users.
                let annSteals = try await TestClient.open(port: node.clientPort)
                #expect(try await !annSteals.connect(token: node.token("ann"), session: unnamed.session).resumed)
                let again = try await TestClient.open(port: node.clientPort)
                let resumed = try await again.connect(ConnectRequest(anonymous: true, session: unnamed.session))
                #expect(resumed.resumed && resumed.user == unnamed.user)
                #expect(try await nobody.closing() == 4410)
                try await ann.send(room, "still here")
            }
        }

        @Test func `a session that is taken over while it enters leaves nobody behind`() async throws {
            try await TestNode.run(["loops": 2, "session": ["graceSeconds": 1].merging(TestNode.highRates) { $1 }]) {
                node in
                for number in 1...60 {
                    let room = try await node.createRoom("r\(number)")
                    let first = try await TestClient.connected(node, "ann")
                    let second = try await TestClient.open(port: node.clientPort)
                    var request = ConnectRequest(token: try node.token("ann"))
                    request.session = await first.session
                    // The room's answer and the new connection's claim cross, on one lane or between two.
                    let asked = await second.begin(.connect(request))
                    _ = await first.begin(.enter(EnterRequest(room: room)))
                    _ = try await second.reply(to: asked).get()
                    try await second.drop()
                }
                try await poll("everybody's exit") {
                    let rooms = try await node.api("GET", "/v1/rooms?limit=100").fields()["rooms"] as? [[String: Any]]
                    return rooms?.count == 60 && rooms?.allSatisfy { $0["online"] as? Int == 0 } == true
                }
            }
        }
    }
}
