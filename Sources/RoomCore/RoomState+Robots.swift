import ChatModel

/// Members that exist on the server only (PROTOCOL.md, "Robots"). No session keeps a robot here, so each has a row: it
/// is here until it is removed, put out, or the room is closed, over restarts too. Bounded by `robotsMax`.
extension RoomState {
    /// The robots that are here, in the order in which they entered: a leader that loads the room lets them in.
    public var robotsByEntering: [(robot: Robot, enteredAt: Timestamp)] {
        robots.map { (robot: Robot(user: $0.key, profile: $0.value.profile), enteredAt: $0.value.enteredAt) }
            .sorted { ($0.enteredAt, $0.robot.user) < ($1.enteredAt, $1.robot.user) }
    }

    public var robotCount: Int { robots.count }

    mutating func addRobots(
        _ given: [Robot], for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        try requireDistinct(given.map(\.user))
        for robot in given { try requireNotBarred(robot.user, at: outcome.time) }
        let present = given.map(\.user).filter { robots[$0] != nil }
        guard robots.count + given.count - present.count <= command.facts.robotsMax else {
            throw ChatError(
                .badParameter, "a room has at most \(command.facts.robotsMax) robots", field: "robots")
        }
        for robot in given {
            let record = RobotRecord(
                profile: robot.profile, enteredAt: robots[robot.user]?.enteredAt ?? outcome.time)
            robots[robot.user] = record
            outcome.rows.append(CatalogueChange(kind: .robot, key: robot.user.text, value: .robot(record)))
        }
        // Their number is in the room's row.
        outcome.touchesRoom = true
        // In the order of `robotsByEntering`, so that a listing is the same before and after a restart.
        outcome.endings.append(.robotsEnter(given.sorted { $0.user < $1.user }))
        return .missing(present.map(\.text))
    }

    mutating func removeRobots(
        _ users: [UserID], for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireServer(command.actor)
        try requireDistinct(users)
        let here = users.filter { robots[$0] != nil }
        forgetRobots(here, &outcome)
        if !here.isEmpty { outcome.endings.append(.robotsExit(here)) }
        return .missing(users.filter { !here.contains($0) }.map(\.text))
    }

    /// A robot that is put out is a robot no more; the leader takes it from the kick.
    mutating func forgetRobots(_ users: some Sequence<UserID>, _ outcome: inout Outcome) {
        for user in users.sorted() where robots.removeValue(forKey: user) != nil {
            outcome.touchesRoom = true
            outcome.rows.append(CatalogueChange(kind: .robot, key: user.text, value: nil))
        }
    }

    private func requireDistinct(_ users: [UserID]) throws(ChatError) {
        guard !users.isEmpty else { throw ChatError(.badParameter, "robots is empty", field: "robots") }
        guard Set(users).count == users.count else {
            throw ChatError(.badParameter, "robots names a user twice", field: "robots")
        }
    }
}
