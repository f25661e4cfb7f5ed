/// The parts of one backup, as they lie in directories: together they have every shard of the cluster.
struct BackupParts {
    /// Where a copy is, and up to which entry of its log it goes.
    typealias Copy = (directory: String, appliedIndex: UInt64)

    let cluster: String
    /// By number: of each shard the copy that goes furthest.
    let shards: [Copy]
    let system: Copy
    /// All that were named, with what each of them says of itself.
    private let copies: [(directory: String, manifest: BackupManifest)]

    /// Throws what is missing, or does not belong together.
    init(_ directories: [String]) throws(NodeError) {
        var copies: [(directory: String, manifest: BackupManifest)] = []
        var newest: [UInt16: Copy] = [:]
        var system: Copy?
        for directory in directories {
            let manifest = try BackupManifest.read(from: directory)
            let begun = copies.first ?? (directory, manifest)
            copies.append((directory, manifest))
            guard
                (begun.manifest.name, begun.manifest.cluster, begun.manifest.shardCount)
                    == (manifest.name, manifest.cluster, manifest.shardCount)
            else { throw NodeError(.data, "\(begun.directory) and \(directory) are not of one backup") }
            for shard in manifest.shards
            where newest[shard.number].map({ $0.appliedIndex < shard.appliedIndex }) ?? true {
                newest[shard.number] = (directory, shard.appliedIndex)
            }
            if let index = manifest.systemIndex, system.map({ $0.appliedIndex < index }) ?? true {
                system = (directory, index)
            }
        }
        guard let first = copies.first else { throw NodeError(.data, "no backup is named") }
        var shards: [Copy] = []
        for number in 0..<first.manifest.shardCount {
            guard let copy = newest[number] else {
                throw NodeError(
                    .data, "shard \(number) is missing: name the directories of all nodes that the backup has made")
            }
            shards.append(copy)
        }
        guard !shards.isEmpty else { throw NodeError(.data, "\(first.directory) names no shards") }
        guard let system else {
            throw NodeError(
                .data, "the system state is missing: name the directories of all nodes that the backup has made")
        }
        cluster = first.manifest.cluster
        self.shards = shards
        self.system = system
        self.copies = copies
    }

    /// Throws when a file of one of the copies is not as the backup has written it. Blocks.
    func compare() throws(NodeError) {
        for copy in copies { try copy.manifest.compare(with: copy.directory) }
    }
}
