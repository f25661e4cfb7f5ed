import ChatModel

/// The rules by which objects of a bucket are removed.
public enum S3Cleaning {
    /// Objects younger than this are left: the room may be about to hear of them.
    public static let youngSeconds: Int64 = 60

    /// - Parameters:
    ///   - modifiedAt: of the object, by the store's clock.
    ///   - time: by the same clock.
    public static func isSettled(_ modifiedAt: Timestamp, at time: Timestamp) -> Bool {
        modifiedAt.adding(seconds: youngSeconds) <= time
    }

    /// Whether an object is of no use to its room.
    /// - Parameter digest: of the content that the room keeps under that ID: empty while it has not been sent, nil for none.
    public static func mayGo(_ item: S3Bucket.Item, digest: String?) -> Bool {
        switch (item, digest) {
        case (_, nil): true
        // It is being sent.
        case (_, ""?): false
        case (.content(let name), let digest?): name.digest != digest
        // It was copied to its place.
        case (.incoming, _?): true
        }
    }
}
