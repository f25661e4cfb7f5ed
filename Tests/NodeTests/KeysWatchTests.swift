import ChatModel
import Foundation
import Testing

@testable import Node

/// A keys file that is not the same on all nodes is told of.
@Suite struct KeysWatchTests {
    private func node(_ name: String) throws -> NodeID { try #require(NodeID(name)) }

    @Test func `a node is told of at the second look that finds other keys, once, and anew after it had the same`()
        throws
    {
        var watch = KeysWatch()
        let (n2, n3) = (try node("n2"), try node("n3"))
        let looks: [(NodeID, String?, Bool)] = [
            (n2, "b", false), (n3, "a", false), (n2, "b", true), (n2, "b", false),
            // A program of before says nothing.
            (n3, nil, false),
            (n2, "a", false), (n2, "b", false), (n2, "b", true),
        ]
        for (place, (node, keys, expected)) in looks.enumerated() {
            let isTold = watch.look(at: node, keys: keys, own: "a")
            #expect(isTold == expected, "look \(place)")
        }
        watch.forget { $0 == n2 }
        let isTold = watch.look(at: n2, keys: "b", own: "a")
        #expect(!isTold, "it is another node's first look")
    }

    @Test func `the digest tells keys apart by all that a token must fit, and not by their order`() throws {
        func keys(_ json: String) throws -> [TokenKey] {
            try JSONDecoder().decode([TokenKey].self, from: Data(json.utf8))
        }
        func key(_ kid: String, _ secret: String, _ more: String = "") -> String {
            #"{"kid":"\#(kid)","algorithm":"HS256","use":"client","secret":"\#(secret)"\#(more)}"#
        }
        let (a, b) = (String(repeating: "a", count: 32), String(repeating: "b", count: 32))
        let one = try keys("[\(key("k1", a)),\(key("k2", b))]").digest
        #expect(one.utf8.count == 32)
        #expect(try keys("[\(key("k2", b)),\(key("k1", a))]").digest == one)
        let others = [
            "[\(key("k1", a))]", "[\(key("k1", b)),\(key("k2", b))]", "[\(key("k2", a)),\(key("k1", b))]",
            "[\(key("k1", a, #","iss":"x""#)),\(key("k2", b))]", "[\(key("k1", a, #","aud":"x""#)),\(key("k2", b))]",
            "[]",
        ]
        let digests = try others.map { try keys($0).digest } + [one]
        #expect(Set(digests).count == others.count + 1)
    }
}
