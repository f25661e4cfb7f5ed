import ArgumentParser
import ControlClient
import FoundationEssentials

/// `top`: the cluster live.
struct TopCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "top", abstract: "Show the cluster live: nodes, shards and the biggest rooms, until interrupted.",
        discussion: "Log entries a second are those that the shards' leaders have applied. A shard that lacks its"
            + " leader or a replica is shown first.")

    @Option(help: "Seconds between two looks.") var interval = 2
    @Option(help: "How many rooms to show.") var rooms = 10
    @Option(help: "How many shards to show: those that lack something, then the busiest.") var shards = 5
    @Flag(help: "Show it once, and end.") var once = false
    @OptionGroup var common: CommonOptions

    func validate() throws {
        guard (1...3600).contains(interval) else { throw ValidationError("--interval must be 1-3600.") }
        guard (1...100).contains(rooms) else { throw ValidationError("--rooms must be 1-100.") }
        guard (0...1024).contains(shards) else { throw ValidationError("--shards must be 0-1024.") }
    }

    func run() async throws {
        let client = try common.client()
        var former: (look: TopText, at: ContinuousClock.Instant)?
        while true {
            do throws(CommandFailure) {
                let look = try await TopText(client, rooms: rooms, shards: shards)
                let now = ContinuousClock.now
                if common.json {
                    Output.line(look.json.line)
                } else {
                    let since = former.map { (look: $0.look, seconds: (now - $0.at) / .seconds(1)) }
                    let lines = look.lines(since: since)
                    if once { for line in lines { Output.line(line) } } else { Output.screen(lines) }
                }
                former = (look, now)
            } catch {
                // The first look decides whether there is a cluster; from then on a server may come and go.
                guard former != nil else { throw error }
                Output.note("-- \(error.message)")
            }
            if once { return }
            try await Task.sleep(for: .seconds(interval))
        }
    }
}

extension TopText {
    fileprivate init(_ client: AdminClient, rooms: Int, shards: Int) async throws(CommandFailure) {
        stats = try await client.call("GET", ["stats"])
        nodes = try await client.call("GET", ["cluster"])
        self.shards = try await client.call("GET", ["cluster", "shards"])
        figures = try await client.call("GET", ["figures"])
        // Rooms are not listed while a shard has no leader, and that is when everything else is looked at.
        do throws(CommandFailure) {
            self.rooms = try await client.call("GET", ["rooms"], query: [("sort", "online"), ("limit", String(rooms))])
        } catch {
            guard error.status == 503 else { throw error }
            (self.rooms, roomsComplaint) = (.object([:]), error.message)
        }
        shardsMax = shards
    }
}
