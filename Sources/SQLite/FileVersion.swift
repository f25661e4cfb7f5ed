/// The refusal of a file that another version of the program has written.
public enum FileVersion {
    /// Nothing is wrong with such a file, so nobody is told to do away with it.
    ///
    /// - Parameters:
    ///   - found: the number that the file says.
    ///   - own: the number that this program writes.
    ///   - oldest: the lowest number that this program reads; nil: it reads what it writes.
    public static func sentence(_ path: String, found: Int64, own: Int64, oldest: Int64? = nil) -> String {
        let known = oldest.map { "formats \($0) to \(own)" } ?? "format \(own)"
        return """
            \(path) has format \(found), and this program reads \(known) only. The file is left as it is: a \
            \(found > own ? "newer" : "older") version of the program has written it and can use it; CHANGELOG.md says \
            which one, and how to get from one to the other.
            """
    }
}
