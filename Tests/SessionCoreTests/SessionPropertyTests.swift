import ChatModel
import StorageTestKit
import Testing
import Wire

@testable import SessionCore

/// A session between a client that does what it likes and rooms that answer late, against the simplest rooms that there
/// are: a set of those that have the session as a member. When everything has arrived, both say the same.
@Suite struct SessionPropertyTests {
    private struct World {
        private enum Call {
            case enter(UInt32?), exit(UInt32?), leave, announce
        }

        private enum Answer {
            case entered(UInt32?), refused(UInt32?), exited(UInt32?), kicked, following
        }

        static let rooms = ["a", "b", "c", "d"]

        var dialogue = SessionDialogue.connected()
        var random: SeededGenerator
        /// Rooms that have the session, as they see it.
        private(set) var members: Set<String> = []
        /// Calls on their way to each room, and answers on their way back, oldest first.
        private var asked: [String: [Call]] = [:]
        private var answers: [String: [Answer]] = [:]
        /// Rooms that are being told that the session is in them after all: until they go on from there, nothing else that
        /// they say of who is in them is heard (`AwaitedStreams`), and what was open is asked again.
        private var announced: [String: Int] = [:]
        /// Requests that have no answer and were not given up: the number, and what was asked.
        private var open: [UInt32: (operation: ClientOperation, room: String)] = [:]
        /// Of the present connection.
        private var unanswered: Set<UInt32> = []
        private var nextID: UInt32 = 1_000
        private(set) var replies = 0

        init(seed: UInt64) { random = SeededGenerator(seed: seed) }

        mutating func step() {
            dialogue.now += 1_000
            let room = Self.rooms.randomElement(using: &random) ?? "a"
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<4: ask(.enter(EnterRequest(room: SessionDialogue.room(room))), room)
            case 4..<6: ask(SessionDialogue.exit(room), room)
            case 6..<11: arrive(at: room)
            case 11..<16: answer(from: room)
            case 16: kick(room)
            case 17: giveUp()
            case 18: disconnect()
            default: connect()
            }
            check()
        }

        /// Everything that is on its way arrives.
        mutating func settle() {
            while asked.values.contains(where: { !$0.isEmpty }) || answers.values.contains(where: { !$0.isEmpty }) {
                for room in Self.rooms {
                    arrive(at: room)
                    answer(from: room)
                }
            }
        }

        private mutating func disconnect() {
            guard dialogue.session.isConnected else { return }
            unanswered = []
            perform(dialogue.disconnect())
        }

        private mutating func connect() {
            perform(
                dialogue.session.move(
                    users: &dialogue.users, heardAt: dialogue.heardAt, nowMilliseconds: dialogue.now))
            unanswered = []
            perform(dialogue.connect(id: nil))
        }

        private mutating func ask(_ operation: ClientOperation, _ room: String) {
            guard dialogue.session.isConnected else { return }
            nextID += 1
            let id = nextID
            let isKnown = dialogue.isIn(room) || dialogue.isEntering(room)
            let session = dialogue.session
            let isFull = session.rooms.count { session.leaving[$0] == nil } >= dialogue.limits.roomsMax
            guard case .ask(let asked) = dialogue.decide(operation, room, id: id) else { return }
            if let number = asked.number {
                open[number] = (operation, room)
                unanswered.insert(id)
            }
            if case .enter = operation {
                #expect(!isFull || isKnown, "one room too many")
                self.asked[room, default: []].append(.enter(asked.number))
            } else {
                self.asked[room, default: []].append(.exit(asked.number))
            }
        }

        /// The room gets what was asked first.
        private mutating func arrive(at room: String) {
            guard let call = asked[room]?.first else { return }
            asked[room]?.removeFirst()
            switch call {
            case .enter(let number):
                // A room that refuses leaves a member where it is.
                let isTaken = members.contains(room) || Int.random(in: 0..<5, using: &random) > 0
                if isTaken { members.insert(room) }
                answers[room, default: []].append(isTaken ? .entered(number) : .refused(number))
            case .exit(let number):
                members.remove(room)
                answers[room, default: []].append(.exited(number))
            case .leave: members.remove(room)
            case .announce:
                members.insert(room)
                answers[room, default: []].append(.following)
            }
        }

        /// The session gets what the room has said first.
        private mutating func answer(from room: String) {
            guard let answer = answers[room]?.first else { return }
            answers[room]?.removeFirst()
            let isAnnounced = announced[room, default: 0] > 0
            switch answer {
            case .entered, .exited: if isAnnounced { return }
            case .following: announced[room, default: 0] -= 1
            case .refused, .kicked: break
            }
            switch answer {
            case .following: break
            case .entered(let number): perform(dialogue.enter(room, number: number, isOpen: close(number)))
            case .refused(let number):
                guard close(number) else { return }
                perform(dialogue.refuseEnter(room, number: number, ChatError(.conflict, "no")))
            case .exited(let number):
                let isOpen = number != nil && close(number)
                perform(dialogue.exit(room, number: number, isOpen: isOpen))
            case .kicked: perform(dialogue.kick(room, isAnnounced: isAnnounced))
            }
        }

        private mutating func close(_ number: UInt32?) -> Bool {
            guard let number else { return true }
            return open.removeValue(forKey: number) != nil
        }

        private mutating func kick(_ room: String) {
            guard members.remove(room) != nil else { return }
            answers[room, default: []].append(.kicked)
        }

        private mutating func giveUp() {
            guard let number = open.keys.sorted().randomElement(using: &random), let given = open[number] else {
                return
            }
            open[number] = nil
            let room = SessionDialogue.room(given.room)
            if let id = dialogue.session.onGiveUp(number, given.operation, in: room) { note(replyTo: id) }
        }

        private mutating func note(replyTo id: UInt32) {
            replies += 1
            #expect(unanswered.remove(id) != nil, "an answer that nobody waits for")
        }

        private mutating func perform(_ effects: [Session.Effect]) {
            for effect in effects {
                switch effect {
                case .notify(let room, .left): asked["\(room)", default: []].append(.leave)
                case .announce(let room):
                    announce("\(room)")
                case .view(let entry):
                    #expect(dialogue.session.isConnected)
                    note(replyTo: entry.request)
                case .reply(let id, _): note(replyTo: id)
                case .notify, .joined, .parted, .heard, .push, .close, .wake: break
                }
            }
        }

        private mutating func announce(_ room: String) {
            announced[room, default: 0] += 1
            asked[room, default: []].append(.announce)
            for (number, request) in open.sorted(by: { $0.key < $1.key }) where request.room == room {
                let isEnter = if case .enter = request.operation { true } else { false }
                asked[room, default: []].append(isEnter ? .enter(number) : .exit(number))
            }
        }

        private func check() {
            #expect(Set(dialogue.session.rooms).count == dialogue.session.rooms.count)
            #expect(Set(dialogue.session.rooms) == Set(dialogue.session.stays.keys))
            #expect(dialogue.session.rooms.count <= 2 * dialogue.limits.roomsMax)
        }

        /// When nothing is on its way.
        func checkSettled() {
            #expect(Set(dialogue.rooms) == members)
            #expect(Self.rooms.allSatisfy { !dialogue.isEntering($0) })
            #expect(unanswered.isEmpty, "\(unanswered.count) requests have no answer")
            #expect(dialogue.session.requests.waitingCount == 0)
        }
    }

    @Test func `a session and its rooms agree when everything has arrived, and each request is answered once`() {
        var replies = 0
        for seed in SeededGenerator.seeds(200) {
            var world = World(seed: seed)
            for _ in 0..<20 {
                for _ in 0..<30 { world.step() }
                world.settle()
                world.checkSettled()
            }
            replies += world.replies
        }
        #expect(replies > 10)
    }
}
