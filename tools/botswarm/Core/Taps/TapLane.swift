import ChatModel
import EventLoop

/// All who tap, on one loop.
package final class TapLane {
    let loop: EventLoop
    let gateways: [WebSocketAddress]
    let plan: TapPlan
    let listener: TapListener?
    private let signer: TokenSigner
    private let tag: String
    private var members: [TapMember] = []
    private var isTapping = false
    private var isStopped = false
    private var next = 0
    private let now: @Sendable () -> Int64

    private static let tokenSeconds: Int64 = 3_600
    private static let tickMilliseconds: UInt64 = 20

    /// - Parameter now: Unix seconds.
    package init(
        loop: EventLoop, gateways: [WebSocketAddress], signer: TokenSigner, plan: TapPlan, tag: String,
        listener: TapListener? = nil, now: @escaping @Sendable () -> Int64
    ) {
        self.listener = listener
        self.loop = loop
        self.gateways = gateways
        self.signer = signer
        self.plan = plan
        self.tag = tag
        self.now = now
    }

    package var here: Int { members.count { $0.isHere } }
    package var waiting: Int { members.reduce(0) { $0 + $1.openCount } }
    package var account: TapAccount { members.reduce(into: TapAccount()) { $0.add($1.account) } }
    /// By the key of the tally.
    package var accounts: [String: TapAccount] {
        members.reduce(into: [:]) { $0[$1.key, default: TapAccount()].add($1.account) }
    }

    package func start() { tick(carried: (0, 0)) }

    /// From now on they tap, or do so no more.
    package func tap(_ isTapping: Bool) { self.isTapping = isTapping }

    private func tick(carried: (newcomers: Double, taps: Double)) {
        guard !isStopped else { return }
        let share = Double(Self.tickMilliseconds) / 1000
        var newcomers = carried.newcomers + plan.rampPerSecond * share
        while newcomers >= 1, members.count < plan.members {
            newcomers -= 1
            let number = members.count
            guard let user = UserID("taps-\(tag)-\(number)") else { break }
            let member = TapMember(number: number, user: user, lane: self)
            members.append(member)
            member.connect()
        }
        var taps = carried.taps
        if isTapping, !members.isEmpty {
            taps += plan.requestsPerSecond * Double(plan.members) * share
            while taps >= 1 {
                taps -= 1
                next += 1
                members[next % members.count].tap(wantsAnswer: next % 100 < plan.answeredPercent)
            }
        }
        let rest = (newcomers: min(newcomers, 1), taps: min(taps, 1))
        loop.schedule(afterMilliseconds: Self.tickMilliseconds) { [weak self] in self?.tick(carried: rest) }
    }

    package func stop() {
        isStopped = true
        for member in members { member.stop() }
    }

    func token(of user: UserID) -> String {
        let time = now()
        return signer.token(for: user, issuedAt: time, expiresAt: time + Self.tokenSeconds)
    }
}
