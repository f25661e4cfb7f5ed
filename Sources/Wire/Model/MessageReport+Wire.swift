import ChatModel

/// As managers see it.
extension MessageReport: WireMessage {
    public static var blank: MessageReport {
        MessageReport(
            index: 0, messageID: "", seq: 0, from: nil, reporter: .blank, time: .blank, keptUntil: .blank, after: 0)
    }
    public static var schemaName: String { "Report" }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var id = W.isDecoding ? "" : self.id
        try walker.required(1, "id", &id)
        try walker.required(2, "messageId", &messageID)
        try walker.shown(3, "seq", &seq)
        try walker.optional(4, "from", &from)
        try walker.optional(5, "excerpt", &excerpt)
        try walker.required(6, "reporter", &reporter)
        try walker.optional(7, "reason", &reason)
        try walker.required(8, "time", &time)
        guard W.isDecoding else { return }
        guard let index = Self.index(id) else { throw ChatError(.badParameter, "this names no report", field: "id") }
        self.index = index
    }
}

/// As the catalogue has it.
struct StoredReport: WireMessage {
    var report: MessageReport

    static var blank: StoredReport { StoredReport(report: .blank) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try report.walk(&walker)
        try walker.required(20, "keptUntil", &report.keptUntil)
        try walker.shown(21, "after", &report.after)
    }
}
