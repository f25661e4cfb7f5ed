import ChatModel
import ChatroomClient
import Foundation
import Synchronization
import Testing
import WaitTestKit

extension IntegrationTests {
    /// The Swift SDK against the real program: how sessions end, and TLS of the node's own.
    @Suite(.timeLimit(.minutes(2))) struct SDKEndTests {
        /// The client's events up to one.
        private static func events(_ events: ClientEvents, until last: ClientEvent) async -> [ClientEvent] {
            var all: [ClientEvent] = []
            for await event in events {
                all.append(event)
                if event == last { break }
            }
            return all
        }

        private static func kick(_ watch: RoomWatch) async throws -> Kick {
            try await watch.event("kick") { event -> Kick? in if case .kicked(let kick) = event { kick } else { nil } }
        }

        /// What a token provider gives, one after the other: nil for a failure.
        private final class Tokens: Sendable {
            private let waiting: Mutex<[String?]>

            init(_ tokens: [String?]) { waiting = Mutex(tokens) }

            /// The next one; nil when all were given.
            func next() throws -> String? {
                let next: String?? = waiting.withLock { $0.isEmpty ? .some(nil) : $0.removeFirst().map { .some($0) } }
                guard let next else { throw TestFailure("no token now") }
                return next
            }
        }

        private static func issue(_ node: TestNode) async throws -> String {
            let answer = try await node.api("POST", "/v1/users/ann/token", "{}")
            guard let token = try answer.fields()["token"] as? String else { throw TestFailure("\(answer)") }
            return token
        }

        @Test func `who is revoked is put out with reason 6, and comes back with a later token only`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("revoked")
                let old = try await Self.issue(node)
                // The first one after the revocation is still the old one.
                let tokens = Tokens([old, old])
                var configuration = node.sdkConfiguration("ann")
                (configuration.settings.reconnectMinMilliseconds, configuration.settings.reconnectMaxMilliseconds) =
                    (1, 50)
                configuration.tokenProvider = {
                    if let token = try tokens.next() { return token }
                    return try await Self.issue(node)
                }
                let ann = ChatroomClient(configuration)
                let events = await ann.events()
                try await ann.connect()
                let (room, watch) = try await ann.entered(id)
                #expect(try await node.api("POST", "/v1/users/ann/revoke").status == 200)
                #expect(try await Self.kick(watch).reason == .tokenRevoked)
                try await watch.ended()
                var told: [ClientEvent] = []
                for await event in events {
                    told.append(event)
                    if event == .state(.connected), told.contains(.state(.lost)) { break }
                }
                #expect(told.filter { $0 == .tokenExpired }.count == 2, "closed with 4401, and the old one refused")
                #expect(await ann.state(of: id) == nil, "a kick is not followed by automatic entry")
                try await room.enter()
                try await room.send("again")
            }
        }

        @Test func `a token that ends without another is replaced when it is there, and the stay goes on`() async throws
        {
            try await TestNode.run { node in
                let id = try await node.createRoom("ending")
                var configuration = node.sdkConfiguration("ann")
                (configuration.settings.reconnectMinMilliseconds, configuration.settings.reconnectMaxMilliseconds) =
                    (1, 50)
                // For the login, when told of the end, and for the login after it.
                let tokens = Tokens([try node.token("ann"), nil, try node.token("ann")])
                configuration.tokenProvider = {
                    guard let token = try tokens.next() else { throw TestFailure("asked too often") }
                    return token
                }
                let ann = ChatroomClient(configuration)
                let events = await ann.events()
                try await ann.connect()
                let (room, watch) = try await ann.entered(id)
                try await room.send("one")
                // Short only now, so that all before it may take its time.
                try await poll("a token that ends in a second is taken") {
                    var short = TestToken()
                    short.claims = ["sub": "ann", "exp": Date().timeIntervalSince1970 + 1]
                    let token = try short.signed()
                    do throws(ClientError) {
                        try await ann.refresh(token: token)
                        return true
                    } catch {
                        // It had ended before the node looked at it: `refresh` has no skew, and a refusal changes
                        // nothing.
                        guard error.refusal?.code == .unauthorized else { throw error }
                        return false
                    }
                }
                let told = await Self.events(events, until: .tokenExpired)
                #expect(told.contains { if case .tokenExpiring = $0 { true } else { false } })
                try await room.send("two")
                try await watch.text("two")
                #expect(await watch.seqs == [1, 2])
                #expect(await watch.events.contains(.state(.lost)))
            }
        }

        @Test func `recalled and combined messages, over the node's own TLS`() async throws {
            let certificate = try TestCertificate.shared.get()
            try await TestCertificate.$current.withValue(certificate) {
                try await TestNode.run { node in
                    let id = try await node.createRoom("secure")
                    var configuration = node.sdkConfiguration("ann")
                    configuration.addressProvider = { ["wss://localhost:\(node.clientPort)"] }
                    configuration.settings.retryCount = 0
                    let suspicious = ChatroomClient(configuration)
                    await #expect { try await suspicious.connect() } throws: {
                        ($0 as? ClientError)?.code == .connectionFailed
                    }
                    configuration.tls.trustedCertificatesPEM = Array(certificate.certificatePEM.utf8)
                    let ann = ChatroomClient(configuration)
                    try await ann.connect()
                    let (room, watch) = try await ann.entered(id)
                    let long = String(repeating: "long ", count: 6_000)
                    let sent = [try await room.send(long), try await room.send("oops")].map(\.messageID)
                    try await watch.text(long)
                    let body = MessageBody.combine(title: "both", summary: "two", messageIDs: sent)
                    let bundle = try await room.send(MessageDraft(body: body))
                    #expect(try await room.combined(bundle.messageID).map(\.text) == [long, "oops"])
                    try await room.recall(sent[1])
                    try await watch.event("323") { event -> Void? in
                        guard case .message(let message) = event,
                            message.notification?.data == .recalled(messageIDs: [sent[1]])
                        else { return nil }
                        return ()
                    }
                    let kept = try await room.history().messages
                    #expect(kept.first { $0.messageID == sent[1] }?.body == .recalled(.text))
                    // Over a restart, too.
                    await node.kill()
                    try await node.start()
                    try await room.send("after")
                    try await watch.text("after")
                    #expect(await watch.seqs == [1, 2, 3, 4, 5])
                    await ann.close()
                }
            }
        }
    }
}
