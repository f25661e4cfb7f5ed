import ChatModel
import Consensus

/// What a run of freezes is at: one fault of nodes or links after the other, and after each the question whether all is
/// well again.
struct Freezes {
    var round = 0
    /// Since when the next fault is waited for.
    var waitsSince = Duration.zero
    /// What can't be lost is lost now, if at all: later it could not be mended in time.
    var mayLose = false
    var endsAt = Duration.zero
    /// What this round's fault is, for whoever reads a failure.
    var fault = ""
    /// Who was in a room before the fault.
    var old: [Int] = []
    /// Who has come when the fault had ended.
    var new: [Int] = []
    /// Half a second before all has to be well: what rooms had, and what looked like a ghost.
    var newest: [GroupID: UInt64] = [:]
    var suspects: Set<String> = []
    /// Nobody speaks any more.
    var isSilent = false
    var isOver = false
    /// Streams of which something was lost in this round.
    var lost: Set<String> = []

    /// Faults of one run.
    static let roundsMax = 3
}

enum FreezeStep {
    /// Is everything calm?
    case look
    case stop(Int, Duration)
    /// Every connection between two nodes breaks, again and again.
    case flap(Int, Int)
    /// A leader forgets who of one lane is in its room.
    case forget
    case ended
    /// From now on nothing is lost that can't be.
    case mend
    case halfway
    case judge
    case close
}
