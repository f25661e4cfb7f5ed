/// One item of a `barrage` push.
public struct BarrageItem: Sendable, Hashable {
    public var from: Sender?
    public var text: String
    public var time: Timestamp
    public var ext: String?
    public var style: String?
    public var priority = Priority.normal
    /// How many equal texts of one window this item stands for.
    public var count: Int64 = 1

    public init(from: Sender?, text: String, time: Timestamp) {
        self.from = from
        self.text = text
        self.time = time
    }
}
