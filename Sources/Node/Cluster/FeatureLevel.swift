/// The forms of commands, rows and frames that the nodes of a cluster may write for each other (PROTOCOL.md, "Versions").
enum FeatureLevel {
    /// The level of the cluster. There is only one so far.
    static let current: Int64 = 1
}
