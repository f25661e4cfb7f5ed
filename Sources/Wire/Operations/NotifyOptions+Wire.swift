import ChatModel

extension NotifyOptions {
    /// Visits `notify` and `notifyExt`, which have the numbers 30 and 31 in every request.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.defaulted(30, "notify", &notify, default: true)
        try walker.optional(31, "notifyExt", &notifyExt, .bytes(Limits.notifyExtBytes))
    }
}

extension HistoryRequest {
    /// Visits the page's parameters, which stand beside the room.
    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var order = ascending ? HistoryOrder.ascending : .descending
        try walker.defaulted(2, "startTime", &startTime, default: .blank, .integers(0, .max))
        try walker.defaulted(3, "limit", &limit, default: Int(Limits.pageItemsDefault), .integers(1, Limits.pageItems))
        try walker.defaulted(4, "order", &order, default: .descending)
        try walker.repeated(5, "types", &types, itemsMax: MessageType.allCases.count)
        try walker.optional(6, "beforeSeq", &beforeSeq)
        try walker.optional(7, "afterSeq", &afterSeq)
        if W.isDecoding { ascending = order == .ascending }
    }
}
