import ChatModel

/// Passes settings on whenever they have changed, one telling of a setting after the other.
///
/// Several may ask for the same change: who has made it, and who has seen it in the log. A caller that asks while it is
/// being told waits for the end of that, so that a return always means "told"; and nobody is left with an older setting
/// because two tellings have overtaken each other.
actor SettingTeller {
    private let version: @Sendable (SettingName) -> UInt64
    private let pass: @Sendable (SettingName) async -> Void
    private var told: [SettingName: UInt64] = [:]
    private var running: [SettingName: Task<Void, Never>] = [:]

    /// - Parameters:
    ///   - version: of a setting as it is now; 0 for one that is not set. Another setting has another version.
    ///   - pass: tells of a setting as it is now. Returns when all act on it.
    init(
        version: @escaping @Sendable (SettingName) -> UInt64, pass: @escaping @Sendable (SettingName) async -> Void
    ) {
        self.version = version
        self.pass = pass
    }

    /// Returns when the setting, as it was at the time of the call or later, has been told.
    func notify(_ name: SettingName) async {
        while let other = running[name] { await other.value }
        // Read first: what changes while it is passed on is told once more.
        let version = version(name)
        guard told[name] != version else { return }
        let telling = Task {
            await pass(name)
            told[name] = version
            running[name] = nil
        }
        running[name] = telling
        await telling.value
    }
}
