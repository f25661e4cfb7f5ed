import Glibc

/// The limit of open files.
enum OpenFiles {
    /// Raises the soft limit to the hard one and returns what holds now.
    static func raiseLimit() -> Int {
        var limit = rlimit()
        guard getrlimit(.init(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return 0 }
        limit.rlim_cur = limit.rlim_max
        if setrlimit(.init(RLIMIT_NOFILE.rawValue), &limit) != 0 {
            getrlimit(.init(RLIMIT_NOFILE.rawValue), &limit)
        }
        return Int(clamping: limit.rlim_cur)
    }
}
