import RoomCore
import SessionCore

/// The enters of a room on their way to their answers.
struct RoomEntering {
    /// The rate of enters that are let in.
    var admission = Admission()
    /// Enters that are answered at the end of a turn, behind what the turn shows.
    var arrivals = Arrivals()
    /// The messages that they have missed; kept until none of them is left.
    var missedPages = MissedPages()
    /// Those who were told, when they asked to enter, that they had been put out.
    var toldKicks = ToldKicks()
}
