import ChatModel
import EventLoop

/// One of a crowd: is there, and says what it is told to say. Once it is in the room it looks at nothing that it receives
/// but pings, so that a crowd costs the machine little beside the nodes that it shows.
final class CrowdMember: MemberConnectionUser {
    private let room: RoomID
    private let user: UserID
    private let nick: String
    private unowned let lane: CrowdLane
    private let connection: MemberConnection
    private var requestID: UInt32 = 2
    private(set) var isHere = false

    /// Between two tries, in milliseconds.
    private static let waits: ClosedRange<UInt64> = 500...4_000

    private static let askAgainMilliseconds: UInt64 = 1_000

    init(number: Int, room: RoomID, user: UserID, lane: CrowdLane) {
        self.room = room
        self.user = user
        self.lane = lane
        nick = CrowdScript.nick(of: number)
        connection = MemberConnection(loop: lane.loop, gateways: lane.gateways, first: number, waits: Self.waits)
        connection.user = self
    }

    func connect() { connection.connect() }

    func stop() { connection.stop() }

    func opened() {
        connection.send(#"{"id":1,"connect":{"token":"\#(lane.token(of: user))","device":"mobile"}}"#)
        enter()
    }

    private func enter() { connection.send(#"{"id":2,"enter":{"room":"\#(room.text)","nick":"\#(nick)"}}"#) }

    /// Until it is in the room, a member looks for the answer to its `enter`. A room that is not there yet is asked for again.
    func read(_ answer: UnsafeRawBufferPointer) {
        guard !isHere else { return }
        if Self.begins(answer, with: #"{"id":2,"enter""#) { isHere = true }
        guard Self.begins(answer, with: #"{"id":2,"error""#) else { return }
        connection.later(milliseconds: Self.askAgainMilliseconds) { [weak self] in
            guard let self, !isHere else { return }
            enter()
        }
    }

    func closed() { isHere = false }

    private static func begins(_ frame: UnsafeRawBufferPointer, with text: StaticString) -> Bool {
        let text = UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        // Answers to both requests may share a frame, a line each.
        return frame.split(separator: UInt8(ascii: "\n")).contains { $0.starts(with: text) }
    }

    func perform(_ act: CrowdScript.Act) {
        guard isHere else { return }
        requestID = requestID == .max ? 3 : requestID + 1
        let head = #"{"id":\#(requestID),"#
        let place = #""room":"\#(room.text)""#
        switch act {
        case .message(let text):
            connection.send(
                head + #""send":{\#(place),"clientId":"\#(requestID)-\#(lane.tag)","type":"TEXT","text":"\#(text)"}}"#)
        case .barrage(let text): connection.send(#"{"barrage":{\#(place),"text":"\#(text)"}}"#)
        case .sit(let seat):
            let value = #"{\"user\":\"\#(user.text)\",\"nick\":\"\#(nick)\",\"mic\":true}"#
            connection.send(
                head
                    + #""queueSet":{\#(place),"key":"seat:\#(seat)","value":"\#(value)","transient":true,"ifVersion":0}}"#
            )
        case .standUp(let seat): connection.send(head + #""queueTake":{\#(place),"key":"seat:\#(seat)"}}"#)
        }
    }
}
