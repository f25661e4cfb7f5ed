import ChatModel
import HTTPWebSocket
import Wire

/// The answers of the demo's calls, as HTTP.
enum DemoAnswer {
    static func bytes(to request: UpgradeRequest, of demo: any DemoService) async -> [UInt8] {
        do throws(ChatError) {
            switch (request.method, request.path) {
            case ("POST", DemoDoor.path):
                let content = request.body.isEmpty ? Array("{}".utf8) : request.body
                let asked = try WireJSON.decode(DemoRequest.self, from: content, limits: true)
                return bytes(WireJSON.encode(try await demo.enter(asked.room)))
            case ("GET", DemoDoor.path):
                return bytes(WireJSON.encode(await demo.figures()))
            case ("POST", _):
                try demo.kill()
                return bytes(Array("{}".utf8))
            default:
                throw ChatError(.notFound, "this path has no such method")
            }
        } catch {
            return bytes(of: error)
        }
    }

    private static func bytes(_ body: [UInt8]) -> [UInt8] {
        let noStore = HTTPHeader(name: "Cache-Control", value: "no-store")
        return HTTPResponse.build(
            status: 200, reason: "OK", headers: [noStore], contentType: "application/json", body: body)
    }

    static func bytes(of error: ChatError) -> [UInt8] {
        var headers = [HTTPHeader(name: "Cache-Control", value: "no-store")]
        if let milliseconds = error.retryAfterMs {
            headers.append(HTTPHeader(name: "Retry-After", value: "\((max(0, milliseconds) + 999) / 1000)"))
        }
        return HTTPResponse.build(
            status: error.code.httpStatus, reason: HTTPStatus.reason(error.code.httpStatus), headers: headers,
            contentType: "application/json",
            body: WireJSON.encode(ErrorView(error: error)))
    }
}
