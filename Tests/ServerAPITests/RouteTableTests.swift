import ChatModel
import Testing

@testable import ServerAPI

private func route(_ method: APIMethod, _ path: String, _ name: String) -> Route {
    Route(method: method, path: path, name: name, summary: "", answer: .json(DoneAnswer.self)) {
        _, _ throws(ChatError) in .done
    }
}

private let table = RouteTable([
    route(.get, "/v1/rooms", "list"),
    route(.get, "/v1/rooms/{room}", "get"),
    route(.delete, "/v1/rooms/{room}", "delete"),
    route(.post, "/v1/rooms/{room}/messages/{messageId}/recall", "recallOne"),
    route(.post, "/v1/rooms/{room}/messages/recall", "recallAll"),
    route(.get, "/v1/rooms/{room}/messages/{messageId}", "message"),
    route(.get, "/v1/rooms/{room}/messages/latest", "latest"),
])

private func name(_ method: String, _ path: String) throws -> String? {
    guard case .route(let route, _) = try table.match(method: method, path: path[...]) else { return nil }
    return route.name
}

@Test(arguments: [
    ("GET", "/v1/rooms", "list"), ("GET", "/v1/rooms/r", "get"), ("DELETE", "/v1/rooms/r", "delete"),
    ("POST", "/v1/rooms/r/messages/m/recall", "recallOne"), ("POST", "/v1/rooms/r/messages/recall", "recallAll"),
    ("GET", "/v1/rooms/r/messages/latest", "latest"), ("GET", "/v1/rooms/r/messages/late", "message"),
])
func `a path is matched with the most literal route`(method: String, path: String, expected: String) throws {
    #expect(try name(method, path) == expected)
}

@Test(arguments: [
    "", "/", "//", "v1/rooms", "/v1", "/v1/rooms/", "/v1/rooms/r/", "/V1/rooms", "/v1/rooms//x", "*",
    "http://h/v1/rooms", "/v1/rooms/r/messages/m/recall/x", String(repeating: "/a", count: 1000),
])
func `a path that no route has is not found`(path: String) throws {
    guard case .none = try table.match(method: "GET", path: path[...]) else {
        // A final slash makes an empty room ID, which the handler refuses.
        #expect(path == "/v1/rooms/")
        return
    }
}

@Test func `another method tells which ones there are`() throws {
    guard case .otherMethods(let methods) = try table.match(method: "PUT", path: "/v1/rooms/r") else {
        Issue.record("a method was matched that no route has")
        return
    }
    #expect(Set(methods) == [.get, .delete])
}

@Test func `path parameters are percent-decoded once`() throws {
    guard case .route(_, let parameters) = try table.match(method: "GET", path: "/v1/rooms/a%23b%252F") else {
        Issue.record("not matched")
        return
    }
    #expect(parameters == ["room": "a#b%2F"])
}

@Test(arguments: ["%", "%4", "%zz", "a%2", "%ff", "%c3%28", "%ED%A0%80"])
func `a broken escape in a path is a bad parameter`(text: String) {
    #expect { _ = try table.match(method: "GET", path: "/v1/rooms/\(text)") } throws: {
        ($0 as? ChatError)?.code == .badParameter && ($0 as? ChatError)?.field == "room"
    }
}
