import ChatModel
import EventLoop

/// A crowd in one room, on one loop.
package final class CrowdLane {
    let loop: EventLoop
    let gateways: [WebSocketAddress]
    /// Keeps the clientIds of two crowds apart.
    let tag: String
    private let signer: TokenSigner
    private let options: CrowdOptions
    private var script: CrowdScript
    private var members: [CrowdMember] = []
    private var isStopped = false
    private let now: @Sendable () -> Int64

    /// A token is asked for anew at each connect.
    private static let tokenSeconds: Int64 = 3_600
    private static let tickMilliseconds: UInt64 = 50

    /// - Parameter now: Unix seconds.
    package init(
        loop: EventLoop, gateways: [WebSocketAddress], signer: TokenSigner, options: CrowdOptions, tag: String,
        now: @escaping @Sendable () -> Int64
    ) {
        self.loop = loop
        self.gateways = gateways
        self.signer = signer
        self.options = options
        self.tag = tag
        self.now = now
        script = CrowdScript(messages: options.messagesPerSecond, barrage: options.barragePerSecond)
    }

    /// So many that are in the room.
    package var here: Int { members.count { $0.isHere } }

    /// Whether somebody has been in the room.
    private var isOpen = false

    package func start() { tick(carried: (0, 0)) }

    /// - Parameter carried: what was due at the last tick and not done, of newcomers and of acts.
    private func tick(carried: (newcomers: Double, acts: Double)) {
        guard !isStopped else { return }
        let share = Double(Self.tickMilliseconds) / 1000
        var newcomers = carried.newcomers + options.rampPerSecond * share
        // One goes ahead and waits for the room; the others follow.
        let wanted = isOpen ? options.members : 1
        while newcomers >= 1, members.count < wanted {
            newcomers -= 1
            let number = members.count
            guard let user = UserID("crowd-\(tag)-\(number)") else { break }
            let member = CrowdMember(number: number, room: options.room, user: user, lane: self)
            members.append(member)
            member.connect()
        }
        if !isOpen, here > 0 { isOpen = true }
        var acts = carried.acts + (options.messagesPerSecond + options.barragePerSecond) * share
        while acts >= 1 {
            acts -= 1
            let speakers = min(options.speakers, members.count)
            guard speakers > 0 else { break }
            let (speaker, act) = script.next(speakers: speakers)
            members[speaker].perform(act)
        }
        let rest = (newcomers: min(newcomers, 1), acts: min(acts, 1))
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

/// The size of a crowd, and how lively it is.
package struct CrowdOptions: Sendable {
    package var room: RoomID
    package var members: Int
    /// So many of them speak, throw barrage and sit down.
    package var speakers: Int
    package var messagesPerSecond: Double
    package var barragePerSecond: Double
    package var rampPerSecond: Double

    package init(
        room: RoomID, members: Int, speakers: Int, messagesPerSecond: Double, barragePerSecond: Double,
        rampPerSecond: Double
    ) {
        self.room = room
        self.members = members
        self.speakers = speakers
        self.messagesPerSecond = messagesPerSecond
        self.barragePerSecond = barragePerSecond
        self.rampPerSecond = rampPerSecond
    }
}
