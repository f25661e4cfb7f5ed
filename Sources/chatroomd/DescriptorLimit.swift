import Glibc

/// The descriptors that the process may have open: one for each client, and some for each shard.
enum DescriptorLimit {
    /// More are of no use, and some systems allow a thousand times as many.
    private static let most: rlim_t = 1_048_576

    /// Takes as many as the system allows (the hard limit). By default many systems give 1,024 to a process that does not ask,
    /// which 128 shards use up by themselves.
    static func raise() {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limits = rlimit()
        guard getrlimit(resource, &limits) == 0, limits.rlim_cur < min(limits.rlim_max, most) else { return }
        limits.rlim_cur = min(limits.rlim_max, most)
        // Refused, the process goes on with those that it has; the metric process_max_fds tells.
        _ = setrlimit(resource, &limits)
    }
}
