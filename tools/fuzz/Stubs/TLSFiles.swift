/// Stands in for the node's own, which reads files: targets give keys as text.
enum TLSFiles {
    static func requirePrivate(_ path: String, _ what: String) throws(NodeError) {}
}
