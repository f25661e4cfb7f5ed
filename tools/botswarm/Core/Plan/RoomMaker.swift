import ChatModel

/// Makes the rooms of a run, with their managers.
package struct RoomMaker: Sendable {
    private let scenario: Scenario
    private let target: SwarmTarget
    private let names: BotNames

    package init(_ scenario: Scenario, _ target: SwarmTarget, _ names: BotNames) {
        self.scenario = scenario
        self.target = target
        self.names = names
    }

    package func make() async throws(SwarmFailure) -> [RoomID] {
        guard let api = target.api else {
            throw SwarmFailure(
                .usage,
                "no admin key to create rooms with: set \(SwarmTarget.adminKeyVariable) and --api, or name existing "
                    + "rooms with --room")
        }
        let creator = try RoomCreator(servers: api.servers, adminKey: api.adminKey)
        do throws(SwarmFailure) {
            let rooms = try await make(with: creator)
            await creator.close()
            return rooms
        } catch {
            await creator.close()
            throw error
        }
    }

    private func make(with creator: RoomCreator) async throws(SwarmFailure) -> [RoomID] {
        var rooms: [RoomID] = []
        for number in 0..<scenario.rooms {
            guard let room = RoomID("swarm-\(names.run)-\(number)"), let owner = UserID("swarm-\(names.run)") else {
                preconditionFailure("a short tag and a number make a room ID")
            }
            try await creator.create(room, creator: owner, enterExitNotify: scenario.enterExitNotify)
            rooms.append(room)
        }
        for number in (scenario.bots - scenario.managers)..<scenario.bots {
            let bot = BotID(number)
            try await creator.setManager(names.user(of: bot), in: rooms[scenario.room(of: bot)])
        }
        return rooms
    }
}
