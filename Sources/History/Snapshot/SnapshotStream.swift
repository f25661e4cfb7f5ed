/// The receiving side of a snapshot's bytes: head, rows, end.
struct SnapshotStream: Sendable {
    private var reader = DelimitedReader<SnapshotRecord>()
    private let index: UInt64
    private var hasHead = false
    private var rowCount: UInt64 = 0
    private(set) var isComplete = false

    /// - Parameter index: as of which log entry the rows must be.
    init(index: UInt64) { self.index = index }

    /// The rows that are complete with these bytes. Throws `.malformed` for what is no snapshot as of the index.
    mutating func append(_ bytes: [UInt8]) throws(StorageError) -> [CatalogueRow] {
        var rows: [CatalogueRow] = []
        for record in try reader.append(bytes) {
            guard !isComplete else { throw StorageError(.malformed, "a snapshot goes on behind its end") }
            if let head = record.index {
                guard !hasHead, head == index else {
                    throw StorageError(.malformed, "a snapshot as of \(head) came for one as of \(index)")
                }
                hasHead = true
            } else if let row = record.row, hasHead {
                rowCount += 1
                rows.append(row)
            } else if let count = record.rowCount, hasHead {
                guard count == rowCount else {
                    throw StorageError(.malformed, "\(rowCount) of a snapshot's \(count) rows came")
                }
                isComplete = true
            } else {
                throw StorageError(.malformed, "a snapshot has a record that it can't have there")
            }
        }
        guard !isComplete || reader.waitingBytes == 0 else {
            throw StorageError(.malformed, "a snapshot goes on behind its end")
        }
        return rows
    }
}
