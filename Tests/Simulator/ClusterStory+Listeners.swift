import ChatModel
import Foundation
import SimulatedSystem
import Synchronization

/// Viewers who only listen, in rooms of their own: after each fault all of them hear what is said, or have been told that
/// they will not.
extension ClusterStory {
    static let listenersPlace: UInt8 = 201
    static let listenersRooms = ["listen-0", "listen-1"]
    /// After a fault all is as before within this time.
    private static let patience = Duration.seconds(5)

    func makeListeners() async -> Bool {
        for room in Self.listenersRooms {
            guard await asked("POST", "/v1/rooms", #"{"id":"\#(room)","creator":"host"}"#) else { return false }
        }
        sim_viewers_ping(2_000_000_000)
        for node in 0..<plan.layout.nodes { seatListeners(at: node) }
        return true
    }

    /// Those that a node has lost are replaced by new ones, who enter as any client does.
    private func seatListeners(at node: Int) {
        let wanted = 2 * Self.listenersRooms.count
        let sum = sim_viewers_of(UInt8(node + 1))
        let missing = wanted - min(wanted, Int(sum.connected - sum.ended))
        for number in 0..<missing {
            listeners.add(at: UInt8(node + 1), in: Self.listenersRooms[number % Self.listenersRooms.count])
        }
    }

    /// Says something in their rooms, and waits until everybody has heard it who is connected.
    func everybodyHears(after what: String) async throws {
        let end = SimulatedTime.now + Self.patience
        var deaf: [String] = []
        repeat {
            for node in 0..<plan.layout.nodes { seatListeners(at: node) }
            // New ones hear what is said after they have come.
            let number = said.withLock { said in
                said += 1
                return said
            }
            for room in Self.listenersRooms {
                let body =
                    #"{"type":"TEXT","text":"\#(Viewers.text(number))","sender":"host","clientId":"\#(room)-\#(number)"}"#
                guard try await said(body, in: room) else {
                    return complain(.notAcked, "nothing can be said in \(room) \(what)")
                }
            }
            try await Task.sleep(for: .milliseconds(400))
            deaf = []
            for node in 0..<plan.layout.nodes {
                let sum = sim_viewers_of(UInt8(node + 1))
                if sum.least < UInt64(number) { deaf.append("n\(node + 1) up to \(sum.least) of \(number)") }
            }
        } while !deaf.isEmpty && SimulatedTime.now < end
        if !deaf.isEmpty { complain(.deaf, "somebody is deaf 5 s \(what): \(deaf.joined(separator: ", "))") }
        count("heard")
        for node in 0..<plan.layout.nodes {
            let sum = sim_viewers_of(UInt8(node + 1))
            if sum.repeated > 0 {
                complain(.shownAgain, "listeners of n\(node + 1) were shown \(sum.repeated) messages again \(what)")
            }
            if sum.missing > 0 {
                complain(.notShown, "listeners of n\(node + 1) were not shown \(sum.missing) messages \(what)")
            }
            lookForStates(sum, "listeners of n\(node + 1)", what)
        }
    }

    /// Listeners that were told that a leader is away, and hear the room again, have been told that it is back.
    private func lookForStates(_ sum: sim_viewers, _ listeners: String, _ what: String) {
        if sum.away > 0 {
            complain(.leaderToldWrongly, "\(sum.away) \(listeners) were not told that the leader is back \(what)")
        }
        if sum.unexpected > 0 {
            complain(.leaderToldWrongly, "\(sum.unexpected) \(listeners) were only told that it is back \(what)")
        }
        if isLossless, sum.lost > 0 {
            complain(.leaderToldWrongly, "\(sum.lost) \(listeners) were told that the leader is away \(what)")
        }
        if sum.lost > 0 { count("leaders away") }
    }

    /// Waits until the rooms count those who listen, and nobody else: whoever is gone has left when its grace is over.
    func everybodyIsCounted(at nodes: [Int], _ when: String) async throws {
        let end = SimulatedTime.now + Self.countingTakes
        var counted: UInt64 = 0
        var here: UInt64 = 0
        repeat {
            try await Task.sleep(for: .milliseconds(500))
            here = nodes.reduce(0) { sum, node in
                let viewers = sim_viewers_of(UInt8(node + 1))
                return sum + viewers.connected - viewers.ended
            }
            counted = await countListeners(asking: nodes[0])
        } while counted != here && SimulatedTime.now < end
        if counted != here { complain(.miscountedListeners, "\(here) listen, and \(counted) are counted \(when)") }
    }

    /// The node that leads the first of their rooms.
    func leaderOfListeners(asking node: Int) async -> String? {
        guard let room = RoomID(Self.listenersRooms[0]) else { return nil }
        return await explanation(of: room, at: node)?.leader
    }

    /// How many their rooms count in all.
    func countListeners(asking node: Int) async -> UInt64 {
        var counted: UInt64 = 0
        for room in Self.listenersRooms {
            let text = await cluster.text(node, "/v1/rooms/\(room)") ?? ""
            let place = text.range(of: "\"online\":")
            counted += place.flatMap { UInt64(text[$0.upperBound...].prefix { $0.isNumber }) } ?? 0
        }
        return counted
    }

    /// A node has died, with the leaders of some rooms and some of those who listen there: they are counted until their
    /// grace is over.
    /// - Parameter before: how many were counted.
    func nobodyVanishes(_ before: UInt64, asking node: Int, _ when: String) async throws {
        let end = SimulatedTime.now + Self.patience
        var counted: UInt64 = 0
        repeat {
            try await Task.sleep(for: .milliseconds(100))
            counted = await countListeners(asking: node)
        } while counted < before && SimulatedTime.now < end
        if counted < before { complain(.miscountedListeners, "\(before) were counted, and \(counted) are \(when)") }
    }

    /// Until a node is known to be gone, and the grace of its sessions is over.
    private static let countingTakes = Duration.seconds(45)

    /// Under one ID until it is acked.
    private func said(_ body: String, in room: String) async throws -> Bool {
        for attempt in 0..<50 {
            let answer = await cluster.call(attempt % plan.layout.nodes, "POST", "/v1/rooms/\(room)/messages", body)
            if let answer, 200..<300 ~= answer.status { return true }
            try await Task.sleep(for: .milliseconds(100))
        }
        return false
    }
}
