import Foundation
import Testing

@testable import ControlClient
@testable import chatroomctl

@Suite struct CallCatalogueTests {
    private static let document = #"""
        {"paths":{
            "/v1/rooms/{room}/queue/{key}":{
                "put":{"operationId":"setElement","summary":"Set.","requestBody":{},"parameters":[
                    {"name":"room","in":"path"},{"name":"key","in":"path"},
                    {"name":"Idempotency-Key","in":"header"}]},
                "get":{"operationId":"getElement","summary":"Get.","parameters":[{"name":"room","in":"path"}]}},
            "/v1/rooms":{"get":{"operationId":"listRooms","parameters":[{"name":"limit","in":"query"},
                {"name":"after","in":"query"}]}, "x-note":"no call"},
            "/healthz":{"get":{"operationId":"getHealth"}}}}
        """#

    private func catalogue(_ text: String = document) throws -> CallCatalogue {
        CallCatalogue(document: try JSONTree(parsing: Data(text.utf8)))
    }

    private func complaint(_ name: String, _ words: [String]) throws -> String {
        let catalogue = try catalogue()
        do throws(CommandFailure) {
            _ = try catalogue.prepare(name, words)
            return "none"
        } catch {
            #expect(error.code == .usage)
            return error.message
        }
    }

    @Test func `each operation of the document is a call, by path and method`() throws {
        let calls = try catalogue().calls
        #expect(calls.map(\.name) == ["listRooms", "getElement", "setElement"])
        #expect(calls.map(\.method) == ["GET", "GET", "PUT"])
        #expect(calls.map(\.takesBody) == [false, false, true])
        #expect(calls.map(\.isIdempotent) == [false, false, true])
        #expect(
            calls.map(CallCatalogue.usage(of:)) == [
                "chatroomctl call listRooms [limit=VALUE] [after=VALUE]",
                "chatroomctl call getElement room=VALUE key=VALUE",
                "chatroomctl call setElement room=VALUE key=VALUE [--body JSON]",
            ])
    }

    @Test func `words fill path and query, and a value may have equals signs and slashes`() throws {
        let set = try catalogue().prepare("setElement", ["key=a=b", "room=x/y"])
        #expect(set.path == ["rooms", "x/y", "queue", "a=b"] && set.call.method == "PUT")
        let list = try catalogue().prepare("listRooms", ["after="])
        #expect(list.path == ["rooms"])
        #expect(list.query.map(\.0) == ["limit", "after"] && list.query.map(\.1) == [nil, ""])
    }

    @Test func `wrong use names what is wrong and how the call is made`() throws {
        #expect(try complaint("nope", []) == "there is no call nope; `chatroomctl call` lists all")
        #expect(
            try complaint("setElement", ["room=r"])
                == "key=VALUE is missing; chatroomctl call setElement room=VALUE key=VALUE [--body JSON]")
        #expect(try complaint("setElement", ["room=r", "key="]).hasPrefix("key=VALUE is missing"))
        #expect(try complaint("listRooms", ["limit"]).hasPrefix("limit is not name=value; "))
        #expect(try complaint("listRooms", ["limit=1", "limit=2"]) == "limit is given twice")
        #expect(try complaint("listRooms", ["color=red"]).hasPrefix("listRooms has no parameter color; "))
    }

    @Test(arguments: [
        "{}", "[]", "null", #"{"paths":[]}"#, #"{"paths":{"/v1/x":[]}}"#, #"{"paths":{"/v1/x":{"get":5}}}"#,
    ])
    func `a document without operations has no calls`(text: String) throws {
        #expect(try catalogue(text).calls.isEmpty)
    }
}
