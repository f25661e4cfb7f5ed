import ControlClient
import Foundation
import Testing

@testable import chatroomctl

struct LeavingNodeTests {
    private func tree(_ text: String) throws -> JSONTree { try JSONTree(parsing: Data(text.utf8)) }

    /// Nodes that stay where n4 goes, of a cluster in which each of `nodes` has replicas.
    private func staying(_ nodes: String, holders: String = #""n1","n2","n3","n4""#) throws -> Int? {
        LeavingNode.staying(
            without: "n4",
            try tree(#"{"shards":[{"shard":0,"replicas":[\#(holders)]},{"shard":1,"replicas":["n1"]}]}"#),
            try tree(#"{"nodes":[\#(nodes)]}"#))
    }

    @Test func `nodes that are silent or on their way out do not stay`() throws {
        let all = ["n1", "n2", "n3", "n4"].map { #"{"id":"\#($0)","alive":true}"# }
        #expect(try staying(all.joined(separator: ",")) == 3)
        for gone in [#"{"id":"n3","alive":true,"draining":true}"#, #"{"id":"n3","alive":false}"#] {
            #expect(try staying((all[..<2] + [gone, all[3]]).joined(separator: ",")) == 2)
        }
        // The node itself may be silent.
        #expect(try staying((all[..<3] + [#"{"id":"n4","alive":false}"#]).joined(separator: ",")) == 3)
    }

    @Test func `a node without a replica takes none with it`() throws {
        #expect(try staying(#"{"id":"n1","alive":true}"#, holders: #""n1","n2""#) == nil)
    }
}
