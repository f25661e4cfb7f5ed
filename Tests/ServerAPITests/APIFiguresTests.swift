import ChatModel
import Logging
import Telemetry
import Testing

@testable import ServerAPI

@Suite struct APIFiguresTests {
    private let metrics = MetricsRegistry()

    private func lines(_ name: String) -> [String] {
        metrics.render().split(separator: "\n").map(String.init).filter { $0.hasPrefix(name) }
    }

    private func answer(_ method: String, _ target: String, key: String? = FakeCluster.adminKey) async -> Int {
        let handler = APIHandler(
            table: RouteTable(Routes.described), service: FakeCluster(), logger: Logger(label: "test"),
            now: { Timestamp(0) }, figures: shared)
        let head = APIHandler.Head(method: method, target: target, authorization: key.map { "Bearer \($0)" })
        return await handler.answer(head) { () throws(ChatError) in [] }.status
    }

    private let shared: APIFigures

    init() { shared = APIFigures(in: metrics) }

    @Test func `a request is counted by its call and its status`() async {
        #expect(await answer("GET", "/v1/rooms/a", key: nil) == 401)
        #expect(await answer("GET", "/v1/rooms/b", key: nil) == 401)
        #expect(await answer("GET", "/healthz") == 200)
        #expect(
            lines("chatroom_api_requests_total") == [
                #"chatroom_api_requests_total{route="getRoom",status="401"} 2"#,
                #"chatroom_api_requests_total{route="getHealth",status="200"} 1"#,
            ])
    }

    @Test func `what is no call is counted together, whatever it asks for`() async {
        for number in 0..<5 { #expect(await answer("GET", "/v1/none/\(number)") == 404) }
        #expect(await answer("BREW", "/v1/rooms") == 404)
        shared.count(nil, status: 431)
        shared.count(nil, status: 299)
        #expect(
            lines("chatroom_api_requests_total") == [
                #"chatroom_api_requests_total{route="none",status="404"} 6"#,
                #"chatroom_api_requests_total{route="none",status="431"} 1"#,
                #"chatroom_api_requests_total{route="none",status="other"} 1"#,
            ])
    }

    @Test func `times are those of calls, not of probes`() async {
        for path in ["/healthz", "/readyz", "/metrics", "/v1/nothing"] { _ = await answer("GET", path) }
        #expect(lines("chatroom_api_seconds_count") == ["chatroom_api_seconds_count 0"])
        _ = await answer("GET", "/v1/rooms")
        #expect(lines("chatroom_api_seconds_count") == ["chatroom_api_seconds_count 1"])
    }

    @Test func `a request that can't be read is counted`() async throws {
        // Over a socket, with the figures of a server of its own.
        let metrics = metrics
        let figures = shared
        try await withServer(figures: figures) { client, _ in
            let answer = try await client.send(Array("GET /v1/rooms HTTP/9.9\r\n\r\n".utf8))
            #expect(answer.status == 505)
        }
        #expect(metrics.render().contains(#"{route="none",status="505"} 1"#))
    }

    @Test func `every route has a name of its own`() {
        let names = Routes.described.map(\.name)
        #expect(Set(names).count == names.count && !names.contains(APIFigures.noRoute))
    }
}
