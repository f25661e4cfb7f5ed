import Foundation
import Testing

extension IntegrationTests {
    /// Calls of the server API and what was answered to them when Hummingbird and SwiftNIO served it (2.28, 2.101).
    @Suite struct APITranscriptTests {
        private struct Call: Decodable {
            var method: String
            var target: String
            var body: String?
            var headers: [String: String]
            var status: Int
            /// Those that the API sets itself.
            var answerHeaders: [String: String]
            /// Without times, tokens and ports.
            var answer: String
        }

        @Test func `recorded calls are answered as they were`() async throws {
            let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("Transcripts/server-api.json")
            let calls = try JSONDecoder().decode([Call].self, from: Data(contentsOf: file))
            #expect(calls.count == 59)
            try await TestNode.run { node in
                for call in calls {
                    // An empty header in the record: there was none.
                    let isAnonymous = call.headers["Authorization"] != nil
                    let answer = try await node.api(
                        call.method, call.target, call.body, headers: call.headers.filter { !$0.value.isEmpty },
                        bearer: isAnonymous ? nil : TestNode.adminKey)
                    #expect(answer.status == call.status, "\(call.method) \(call.target)")
                    #expect(Self.lasting(answer.body) == call.answer, "\(call.method) \(call.target)")
                    for (name, value) in call.answerHeaders {
                        #expect(answer.headers[name] == value, "\(name) of \(call.method) \(call.target)")
                    }
                }
            }
        }

        private static func lasting(_ text: String) -> String {
            text.replacing(/eyJ[A-Za-z0-9_.-]+/, with: "TOKEN").replacing(/[0-9]{9,}/, with: "0")
                .replacing(/127\.0\.0\.1:[0-9]+/, with: "ADDRESS")
        }
    }
}
