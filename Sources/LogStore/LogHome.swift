import Consensus
import SQLite

/// A format of the log, to which its transactions go. Used by the writer thread only.
///
/// A transaction is prepared, then committed, then adopted; or it is undone after a failure, and nothing of it counts.
protocol LogHome: AnyObject {
    /// There is something to clean up, for which a transaction is made when nobody saves.
    var hasUpkeep: Bool { get }
    /// Brings the changes of all groups to where `commit` makes them durable, and notes where the entries are; with a
    /// share of what there is to clean up, unless `isBare`.
    func prepare(
        _ changes: inout [GroupID: GroupChange], _ logs: [GroupID: GroupEntries], isBare: Bool
    ) throws(SQLiteError)
    /// The prepared transaction is on disk when this returns. After an error it may be there or not.
    func commit() throws(SQLiteError)
    func undo() throws(SQLiteError)
    /// A group's changes have been adopted: entries are at new places, and others gone.
    func adopt(_ group: GroupID, places: [EntryPlace], cut: [EntryPlace], trimmed: [EntryPlace])
    /// All groups' changes have.
    func didAdopt(_ logs: [GroupID: GroupEntries])
    /// Makes durable that somebody has written.
    func touch(_ logs: [GroupID: GroupEntries]) throws(SQLiteError)
    /// The entry at a place; nil when it is not what was written.
    func entry(at place: EntryPlace, of group: GroupID) throws(SQLiteError) -> Entry?
    /// Lets go of what was kept in memory for those who ask for all entries at a start.
    func startIsOver()
    /// Work of the files that takes no transaction is due.
    var isTidyDue: Bool { get }
    /// Does a part of it.
    func tidy() throws(SQLiteError)
    /// Trimmed entries whose space is still taken, where that is one by one.
    var uselessEntries: Int { get }
    /// - Parameter isTrusted: the disk took what was written; else the files are left as they are.
    func close(isTrusted: Bool)
}

extension GroupEntries {
    /// The entry at an index that is there.
    func entry(_ index: UInt64, of group: GroupID, in home: any LogHome) throws(LogStoreError) -> Entry {
        guard let place = place(of: index) else {
            throw LogStoreError(.unavailable, "entry \(index) of group \(group.number) is not in the log")
        }
        let found: Entry?
        do throws(SQLiteError) {
            found = try home.entry(at: place, of: group)
        } catch {
            throw LogStoreError(error)
        }
        guard let found, found.index == index else {
            throw LogStoreError(.corrupt, "entry \(index) of group \(group.number) does not match its checksum")
        }
        return found
    }
}
