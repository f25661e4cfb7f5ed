import ChatModel
import Foundation
import Testing

extension IntegrationTests {
    /// Clients' operations and what was answered and pushed to them before the requests of sessions and of the server API
    /// went one way to a room's leader: the good cases, their main refusals, and what others in the room see.
    ///
    /// The transcripts were recorded with a `chatroomd` of the commit before 7bc2839e. `RECORD_TRANSCRIPT=/path/to/chatroomd` records them
    /// with that program; the difference is then to be read.
    @Suite struct ClientTranscriptTests {
        /// A difference from the program of that time that was meant. All others fail.
        private struct Difference {
            enum Kind {
                /// Items have it and the transcript does not: a part of them, or a whole item.
                case added(json: Regex<Substring>, protobuf: Regex<Substring>? = nil)
                /// The transcript has results of this command, and there are none any more.
                case unanswered(command: String)
            }

            var name: String
            /// The entry of CHANGELOG.md, or the rule of PROTOCOL.md.
            var reason: String
            var kind: Kind
            /// The items that have what was added, where not all do.
            var json, protobuf: Regex<Substring>?
        }

        /// Session IDs have another form besides, as the changelog says. Their values are left out, as those of all IDs that
        /// differ from run to run.
        private static var differences: [Difference] {
            [
                Difference(
                    name: "features of connect", reason: "Upgrades node by node, and back",
                    kind: .added(json: #/,"features":\[[^\]]*\]/#, protobuf: #/(?: 8:"[a-z]+")+/#)),
                Difference(
                    name: "devices of connect", reason: "Devices",
                    kind: .added(
                        json: #/,"devices":\[[^\]]*\]/#, protobuf: #/(?: 9:\{1:[1-4] 2:[0-9]{13}(?: 3:1)?\})+/#)),
                Difference(
                    name: "the push devices", reason: "Devices", kind: .added(json: #/^\{"devices":.*$/#)),
                Difference(
                    name: "media of enter", reason: "Media",
                    kind: .added(
                        json: #/,"media":\{"token":"[^"]+","expiresAt":[0-9]{13}\}/#,
                        protobuf: #/ 11:\{1:"[^"]+" 2:[0-9]{13}\}/#)),
                Difference(
                    name: "pinned of a room", reason: "Pinned messages and replies",
                    kind: .added(json: #/,"pinned":\[\]/#)),
                Difference(
                    name: "highPerSecond of a room", reason: "Seats as hosts run them",
                    kind: .added(json: #/,"highPerSecond":10/#, protobuf: #/ 22:10(?=\})/#)),
                Difference(
                    name: "viewerBudget in the reply to updateRoom",
                    reason: "PROTOCOL.md, \"Room\": it is always there",
                    kind: .added(json: #/,"viewerBudget":50/#, protobuf: #/ 11:50/#),
                    json: #/\{"id":[0-9]+,"updateRoom":/#, protobuf: #/1:[0-9]+ 21:/#),
                Difference(
                    name: "seatsPerUser of a room", reason: "Seats as hosts run them",
                    kind: .added(json: #/,"seatsPerUser":0/#)),
                Difference(
                    name: "banEndsAt of members", reason: "export carries bans",
                    kind: .added(json: #/,"banEndsAt":[0-9]{13}/#)),
                Difference(
                    name: "the error of a wrong barrage without id",
                    reason: "PROTOCOL.md, \"Requests and replies\": it gets no reply, not even an error",
                    kind: .unanswered(command: #"mate {"barrage":{"room":"hall"}}"#)),
            ]
        }

        private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Transcripts")

        private static var settings: [String: Any] {
            // Fewer rooms of a session are reached sooner, and a grace that no slow machine lets pass.
            let session = TestNode.highRates.merging(["rooms": 3, "graceSeconds": 600]) { $1 }
            return ["session": session, "rooms": ["onlinePushSeconds": 1]]
        }

        @Test(arguments: ClientEncoding.allCases)
        func `clients are told what the transcript says`(encoding: ClientEncoding) async throws {
            let file = Self.folder.appending(path: "client-\(encoding).txt")
            let transcript = Transcript(try String(contentsOf: file, encoding: .utf8))
            #expect(transcript.steps.count == (encoding == .json ? 474 : 153))
            if let program = ProcessInfo.processInfo.environment["RECORD_TRANSCRIPT"] {
                try await TestNode.$executable.withValue(URL(filePath: program)) {
                    try await Self.record(transcript, in: file)
                }
            } else {
                try await Self.replay(transcript, encoding)
            }
        }

        private static func record(_ transcript: Transcript, in file: URL) async throws {
            try await TestNode.run(settings) { node in
                let runner = TranscriptRunner(node: node)
                var recorded = transcript
                for index in recorded.steps.indices {
                    recorded.steps[index].results = try await runner.record(recorded.steps[index])
                }
                try recorded.text.write(to: file, atomically: true, encoding: .utf8)
            }
        }

        private static func replay(_ transcript: Transcript, _ encoding: ClientEncoding) async throws {
            let additions = differences.compactMap { difference -> TranscriptRunner.Addition? in
                guard case .added(let json, let protobuf) = difference.kind else { return nil }
                return (encoding == .json ? json : protobuf).map {
                    TranscriptRunner.Addition(
                        name: difference.name, text: $0,
                        items: encoding == .json ? difference.json : difference.protobuf)
                }
            }
            let unanswered = differences.compactMap { difference -> String? in
                if case .unanswered(let command) = difference.kind { command } else { nil }
            }
            try await TestNode.run(settings) { node in
                let runner = TranscriptRunner(node: node, without: additions)
                for var step in transcript.steps {
                    if unanswered.contains(step.command) { step.results = [] }
                    let results = try await runner.replay(step)
                    #expect(results == step.results, "line \(step.number): > \(step.command)")
                    // The steps behind a difference rest on what it has changed.
                    guard results == step.results else { return }
                }
                #expect(try await runner.rest() == [])
                #expect(runner.met == Set(additions.map(\.name)), "differences that are none any more")
            }
        }
    }
}
