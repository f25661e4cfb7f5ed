import SQLite
import SystemCalls

/// The files of a copy, and whether they still are as they were written.
extension BackupManifest {
    /// The sums of all files below a directory, by their paths in it. Nobody writes to these files any more. They are
    /// read on a thread of the backup's own: content may be large.
    static func sums(in directory: String) async throws(SQLiteError) -> [String: FileSum] {
        let result: Result<[String: FileSum], SQLiteError> = await withCheckedContinuation { continuation in
            startDatabaseThread("backup-sums", isInBackground: true) {
                do throws(SQLiteError) {
                    var sums: [String: FileSum] = [:]
                    try addSums(of: "", in: directory, to: &sums)
                    continuation.resume(returning: .success(sums))
                } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
        }
        return try result.get()
    }

    /// - Parameter folder: relative to the directory, with a slash at its end; empty for the directory itself.
    private static func addSums(
        of folder: String, in directory: String, to sums: inout [String: FileSum]
    ) throws(SQLiteError) {
        for name in try FileSystem.names(in: directory + "/" + folder) {
            let file = folder + name
            if FileStatus(path: directory + "/" + file)?.isRegular == true {
                sums[file] = try FileSum.read(directory + "/" + file)
            } else {
                try addSums(of: file + "/", in: directory, to: &sums)
            }
        }
    }

    /// Throws when a file of the copy in a directory is missing, or is not as it was written. The copy is only read.
    /// A copy of a program that noted no sums is not compared. Blocks.
    func compare(with directory: String) throws(NodeError) {
        for (file, written) in (files ?? [:]).sorted(by: { $0.key < $1.key }) {
            let place = "\(directory)/\(file) in the copy of node \(node)"
            let found: FileSum?
            do throws(SQLiteError) {
                found = try FileSum.read(directory + "/" + file)
            } catch {
                throw NodeError(.data, "\(place): can't be compared with backup.json: \(error)")
            }
            guard found == written else {
                throw NodeError(
                    .data,
                    "\(place): differs from backup.json: \(found?.description ?? "no file") instead of \(written)")
            }
        }
    }
}
