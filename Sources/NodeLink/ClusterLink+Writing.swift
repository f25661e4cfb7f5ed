import EventLoop
import NodeLinkCore

/// Frames are written, and time is told, at the end of a turn and by a timer.
extension ClusterLink {
    func mark(_ link: LinkConnection) {
        guard !link.isDirty else { return }
        link.isDirty = true
        // If this turn's flush is over there must be another turn.
        if dirty.isEmpty { loop.executeLater {} }
        dirty.append(link)
    }

    func flush() {
        guard !dirty.isEmpty else { return }
        let batch = dirty
        dirty.removeAll()
        for link in batch {
            link.isDirty = false
            if link.flush(&writeBuffer) { mark(link) }
            sendCredit(link)
        }
    }

    private func sendCredit(_ link: LinkConnection) {
        guard case .up(let node) = link.conversation.stage else { return }
        for lane in link.conversation.takeLanesWithRoom() { notify(.hasRoom(node, lane)) }
    }

    // MARK: - Time

    func setTimer() {
        var due = isClosed ? nil : peers.nextCall
        if !isClosed {
            for link in links.values {
                guard let next = link.conversation.nextLook else { continue }
                due = min(due ?? next, next)
            }
        }
        guard due != wakeUp?.due else { return }
        wakeUp?.timer.cancel()
        wakeUp = nil
        guard let due else { return }
        let now = loop.nowMilliseconds
        wakeUp = (due, loop.schedule(afterMilliseconds: due - min(due, now)) { [self] in tick(due) })
    }

    private func tick(_ due: UInt64) {
        wakeUp = nil
        let now = loop.nowMilliseconds
        // This process itself was stopped: what the others have sent waits to be read after this.
        let wasStopped = now > due + configuration.pingInterval.wholeMilliseconds
        for link in links.values {
            switch link.conversation.look(at: now, wasStopped: wasStopped) {
            case .nothing: continue
            case .greetingLate:
                fail(link, LinkError(.timedOut, "it said no hello within \(configuration.helloTimeout)"))
            case .silent(let node):
                link.close()
                gone(link, LinkError(.timedOut, "\(node) was silent for \(configuration.silenceMax)"))
            case .pingDue:
                // A ping says nothing more behind something that is on its way already.
                if !link.isWriting, link.conversation.offer(LinkControl.ping.frame) { mark(link) }
            }
        }
        perform(peers.tick(at: now))
    }
}
