/// The steps at the end of a loop turn, in the order in which they run.
///
/// A turn is: timers, then the I/O of the last poll, then the jobs, then these phases, then the next poll. The input of
/// a turn is thus complete when its phases run, so a batch is one turn's work.
public enum TurnPhase: Int, CaseIterable, Sendable {
    /// Hand what clients asked in the turn to where it is decided, so that the same turn can propose it.
    case route
    /// Hand the commands of the turn to consensus as one batch.
    case propose
    /// Turn what the rooms emitted in the turn into publications.
    case publish
    /// Write what the turn left in the send queues.
    case flush
}
