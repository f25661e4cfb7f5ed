import ChatModel
import EventLoop

/// One who taps on one tally, and takes account of what it is told.
final class TapMember: MemberConnectionUser {
    let key: String
    private let user: UserID
    private unowned let lane: TapLane
    private let connection: MemberConnection
    private(set) var account = TapAccount()
    private(set) var isHere = false
    private var requestID: UInt32 = 2
    /// Requests without an answer on this connection.
    private var open: Set<UInt32> = []
    private var lastTotal: Int64 = 0
    /// The listener's mark of when it asked to enter.
    private var enterMark = 0

    private static let waits: ClosedRange<UInt64> = 200...1_500
    private static let askAgainMilliseconds: UInt64 = 500

    init(number: Int, user: UserID, lane: TapLane) {
        (self.user, self.lane) = (user, lane)
        key = lane.plan.key(of: number)
        connection = MemberConnection(loop: lane.loop, gateways: lane.gateways, first: number, waits: Self.waits)
        connection.user = self
    }

    var openCount: Int { open.count }

    func connect() { connection.connect() }

    func stop() { connection.stop() }

    func opened() {
        lastTotal = 0
        connection.send(#"{"id":1,"connect":{"token":"\#(lane.token(of: user))","device":"mobile"}}"#)
        enter()
    }

    private func enter() {
        enterMark = lane.listener?.mark() ?? 0
        let history = lane.listener == nil ? "" : #","history":100"#
        connection.send(#"{"id":2,"enter":{"room":"\#(lane.plan.room.text)"\#(history)}}"#)
    }

    /// Taps once: with an answer or without.
    func tap(wantsAnswer: Bool) {
        guard isHere, connection.isWritten else { return }
        let plan = lane.plan
        let body = #""tally":{"room":"\#(plan.room.text)","key":"\#(key)","delta":\#(plan.delta)}}"#
        account.sent += plan.delta
        guard wantsAnswer else { return connection.send("{" + body) }
        requestID = requestID == .max ? 3 : requestID + 1
        open.insert(requestID)
        connection.send(#"{"id":\#(requestID),"# + body)
    }

    func read(_ text: UnsafeRawBufferPointer) {
        for line in text.split(separator: UInt8(ascii: "\n")) { hear(String(decoding: line, as: UTF8.self)) }
    }

    /// Answers are few words of a known form.
    private func hear(_ line: String) {
        if line.hasPrefix(#"{"tallies":"#) { return take(total: number(in: line, after: #""\#(key)":"#)) }
        guard line.hasPrefix(#"{"id":"#), let id = number(in: line, after: #"{"id":"#).flatMap({ UInt32(exactly: $0) })
        else { return }
        if id == 2 {
            if line.contains(#""enter":"#) {
                isHere = true
                lane.listener?.entered(line, enterMark)
            } else {
                connection.later(milliseconds: Self.askAgainMilliseconds) { [weak self] in
                    guard let self, !isHere else { return }
                    enter()
                }
            }
        }
        guard open.remove(id) != nil else { return }
        let delta = lane.plan.delta
        if line.contains(#""tally":"#) {
            account.answered += delta
            take(total: number(in: line, after: #""total":"#))
        } else if line.contains(#""code":503"#) {
            account.unknown += delta
        } else if line.contains(#""code":13007"#) {
            // Its node does not know it any more: it comes back.
            account.refused += delta
            isHere = false
            enter()
        } else {
            account.refused += delta
        }
    }

    private func take(total: Int64?) {
        guard let total else { return }
        account.toldTotal = max(account.toldTotal, total)
        if total < lastTotal { account.fallen += 1 }
        lastTotal = total
    }

    private func number(in line: String, after key: String) -> Int64? {
        guard let range = line.firstRange(of: key) else { return nil }
        return Int64(line[range.upperBound...].prefix { $0.isNumber })
    }

    func closed() {
        isHere = false
        account.unanswered += Int64(open.count) * lane.plan.delta
        open = []
        if !connection.isStopped { account.reconnects += 1 }
    }
}
