import ChatModel
import RoomProtocol

/// One room's taps on one lane. It outlives the viewers who have tapped, until its last window is settled.
final class TapIntake {
    var windows: TapWindows
    /// The caller that a batch names: any session that has tapped.
    let address: SessionAddress
    let caller: Caller
    /// A timer is set for the end of the window.
    var isScheduled = false

    init(life: UInt64, address: SessionAddress, caller: Caller) {
        windows = TapWindows(life: life)
        (self.address, self.caller) = (address, caller)
    }
}
