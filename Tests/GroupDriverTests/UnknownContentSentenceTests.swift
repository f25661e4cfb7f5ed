import ChatModel
import GroupDriver
import Testing

/// The sentences for an operator about content that is not understood.
@Suite struct UnknownContentSentenceTests {
    private struct Oddity: Error, CustomStringConvertible {
        var description: String { "odd" }
    }

    @Test func `an entry, bytes and a row are told with one advice, for a newer version and for damage`() {
        let facts = [
            (
                "the log entry 7 of shard 3 can't be understood (odd)",
                UnknownContent(entry: 7, of: "shard 3", Oddity(), own: .newest)
            ),
            ("a row of room r can't be understood (odd)", UnknownContent("a row of room r", Oddity(), own: .newest)),
            (
                "room r has a row of kind 80, which is not known",
                UnknownContent(rowKind: 80, of: "room r", own: .newest)
            ),
        ]
        for (fact, content) in facts {
            let advice = """
                . A newer version of the program has written it, or the disk has damaged it; this version can do feature \
                level \(FeatureLevel.newest). Start the version that the other nodes run, on this data; if all nodes run \
                this version, the data is damaged: check the disk, remove the node's data directory and let it join anew, \
                or restore a backup where this node is alone
                """
            #expect(content.message == fact + advice)
        }
    }
}
