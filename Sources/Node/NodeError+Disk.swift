import SystemCalls

extension NodeError {
    /// A file of the data directory can't be opened. SQLite takes a disk without space for one that fails, so a start that needs some
    /// says so first: damage and a full disk ask for different hands.
    static func unopened(_ sentence: String, in directory: String) -> NodeError {
        guard let free = FileStatus.freeBytes(at: directory), free < neededBytes else {
            return NodeError(.storage, sentence)
        }
        return NodeError(
            .storage,
            "the disk is full (\(free) bytes are free in \(directory)): free some space and start the node again. \(sentence)"
        )
    }

    /// A start writes less than this before it serves.
    private static let neededBytes: Int64 = 1 << 20
}
