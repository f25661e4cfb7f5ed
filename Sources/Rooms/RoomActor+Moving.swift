import ChatModel
import RoomCore
import RoomProtocol

/// Sessions that go on over another connection, at another lane or another node.
extension RoomActor {
    /// The session lives on another lane or node, or speaks another encoding, from here on.
    func move(_ key: PresenceKey, _ call: SessionOrigin, from former: NodeID?) {
        let address = call.address
        if let former { takeOver(PresenceKey(node: former, session: key.session), key, call) }
        presence.move(key, lane: address.lane, encoding: address.encoding)
        presence.setBack(key)
        if let visitor = presence.visitor(key) {
            publishVoice(of: visitor, at: context.now())
            if isLost(key.node) {
                lose(key, at: context.now())
            } else if graces.inherited.contains(key) {
                endGrace(of: key)
            }
        } else if !entering.arrivals.contains(key), waiting.holds[key] == nil,
            let cause = recentExclusion(of: call.caller)
        {
            // Its former lane was told, and had given it away already.
            notify(call, .kicked(key.session, cause.reason, ext: cause.ext))
        }
        stream.encodings.formUnion(presence.encodings)
    }

    /// Nobody gets answers to the session's open calls at the other node; its client asks again.
    func takeOver(_ old: PresenceKey, _ key: PresenceKey, _ call: SessionOrigin) {
        entering.arrivals.forget(old)
        cancelReads(of: old)
        // Its word for its lane still holds.
        waiting.holds[old]?.calls.removeAll { if case .operation = $0.body { true } else { false } }
        guard presence.visitor(old)?.user == call.caller.user else { return }
        endGrace(of: old)
        presence.move(old, to: key, lane: call.address.lane, encoding: call.address.encoding)
        holdIfThrownOut(call.caller.user, key)
    }
}
