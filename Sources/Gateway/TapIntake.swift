import ChatModel
import RoomProtocol

/// The taps of one life of a room on one lane. It outlives the viewers who have tapped, until its last window is settled.
final class TapIntake {
    var windows: TapWindows
    /// The caller that a batch names: any session that has tapped.
    let address: SessionAddress
    let caller: Caller
    /// A timer is set for the end of the window.
    var isScheduled = false

    init(life: UInt64, of incarnation: Incarnation?, address: SessionAddress, caller: Caller) {
        windows = TapWindows(life: life, of: incarnation)
        (self.address, self.caller) = (address, caller)
    }
}
