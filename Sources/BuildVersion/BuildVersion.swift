internal import CBuildRevision

/// The version of this program, in one place.
public enum BuildVersion {
    /// The version (semver.org). It changes with a release; CHANGELOG.md says what each one brought.
    public static let number = "0.9.0"

    /// The Git revision of the source, 12 digits, with `+` where files had changed since; `unknown` without Git.
    public static let revision = String(cString: chatroom_build_revision())

    /// Both, as `--version` prints them and nodes tell them of each other: `0.9.0 (0123456789ab)`.
    public static let text = "\(number) (\(revision))"
}
