import ChatModel
import Testing

@testable import RoomCore

@Suite struct RobotTests {
    private func robots(_ names: String...) -> [Robot] {
        names.map { Robot(user: user($0), profile: Profile(nick: "nick-\($0)")) }
    }

    @Test func `robots enter once, and again with another profile`() {
        var it = Dialogue()
        let effects = it.run(.addRobots(robots("a", "b")), by: .system)
        #expect(effects.result == .missing([]))
        #expect(effects.contains(.robotsEnter(robots("a", "b"))))
        #expect(effects.events.isEmpty, "301 is the leader's")
        it.pass(seconds: 1)
        var other = robots("b", "c")
        other[0].profile.nick = "new"
        #expect(it.run(.addRobots(other), by: .system).result == .missing(["b"]))
        #expect(it.state.robotsByEntering.map(\.robot.user.text) == ["a", "b", "c"])
        #expect(it.state.robotsByEntering[1].robot.profile.nick == "new")
    }

    @Test func `robots leave, and those who are none are named`() {
        var it = Dialogue()
        it.run(.addRobots(robots("a", "b")), by: .system)
        let effects = it.run(.removeRobots([user("b"), user("x")]), by: .system)
        #expect(effects.result == .missing(["x"]))
        #expect(effects.contains(.robotsExit([user("b")])))
        let none = it.run(.removeRobots([user("b")]), by: .system)
        #expect(none.result == .missing(["b"]) && none.count == 1)
    }

    @Test func `a room has at most so many robots, and those who are here do not count twice`() {
        var it = Dialogue()
        it.facts.robotsMax = 2
        it.run(.addRobots(robots("a", "b")), by: .system)
        #expect(it.run(.addRobots(robots("a", "b")), by: .system).result == .missing(["a", "b"]))
        let full = it.run(.addRobots(robots("a", "c")), by: .system).error
        #expect(full?.code == .badParameter && full?.field == "robots")
        it.run(.removeRobots([user("b")]), by: .system)
        #expect(it.run(.addRobots(robots("c")), by: .system).error == nil)
    }

    @Test func `no list, a user twice, and people's own calls are refused`() {
        var it = Dialogue()
        #expect(it.run(.addRobots([]), by: .system).error?.field == "robots")
        #expect(it.run(.addRobots(robots("a", "a")), by: .system).code == .badParameter)
        #expect(it.run(.removeRobots([user("a"), user("a")]), by: .system).code == .badParameter)
        #expect(it.run(.addRobots(robots("a")), by: member("creator")).code == .forbidden)
    }

    @Test func `whoever is kept out is no robot either`() {
        var it = Dialogue()
        it.run(.addRobots(robots("a", "b", "c")), by: .system)
        it.run(.kick(user("a"), banSeconds: 60, NotifyOptions()), by: .system)
        it.run(.setBlacklist(user("b"), enable: true, NotifyOptions()), by: .system)
        #expect(it.state.robotsByEntering.map(\.robot.user.text) == ["c"])
        #expect(it.run(.addRobots(robots("a")), by: .system).code == .blacklisted)
        #expect(it.run(.addRobots(robots("d", "b")), by: .system).code == .blacklisted)
        #expect(it.state.robotCount == 1, "all or none")
        it.pass(seconds: 60)
        #expect(it.run(.addRobots(robots("a")), by: .system).error == nil)
    }

    @Test func `closing and deleting a room end its robots' stay`() {
        var it = Dialogue()
        it.run(.addRobots(robots("a", "b")), by: .system)
        let closing = it.run(.closeRoom(NotifyOptions()), by: .system)
        #expect(closing.rows.filter { $0.kind == .robot && $0.value == nil }.map(\.key) == ["a", "b"])
        #expect(it.run(.addRobots(robots("a")), by: .system).code == .roomClosed)
        it.run(.reopenRoom, by: .system)
        #expect(it.state.robotCount == 0)
        it.run(.addRobots(robots("a")), by: .system)
        it.run(.deleteRoom, by: .system)
        #expect(it.state.robotCount == 0)
    }
}
