import ChatModel
import NodeLink
import EventLoop
import Swim
import SwimDriver
import NodeLinkCore
import Testing
import Transport
import WaitTestKit

/// The link and gossip's exchanges on one port.
@Suite(.timeLimit(.minutes(3))) struct SharedPortTests {
    private struct Node: Sendable {
        let station: Station
        let driver: LoopBound<MembershipDriver>
        let address: GossipAddress

        var alive: Set<NodeID> {
            get async {
                await driver.loop.run {
                    Set(driver.value.records.filter { $0.status == .alive }.map(\.member.node))
                }
            }
        }
    }

    private func start(
        _ name: String, on loop: EventLoop, seeds: [GossipAddress], tls: LinkTLS?,
        links: ClusterLinkConfiguration = Station.eager, strangers: StrangerLimits = StrangerLimits()
    ) async throws -> Node {
        let ring = try #require(KeyRing([[UInt8](repeating: 1, count: KeyRing.keyBytes)]))
        let changes = Changes()
        var configuration = MembershipConfiguration()
        configuration.strangers = strangers
        configuration.exchangeTimeout = max(configuration.exchangeTimeout, strangers.introduction)
        // Everything that is learned is learned by exchanges over TCP.
        configuration.gossip.pushPullInterval = .milliseconds(100)
        configuration.gossip.reconnectInterval = .milliseconds(100)
        let (box, driver, address) = try await loop.run { [configuration] () throws(MembershipError) in
            let link = ClusterLink(
                loop: loop, hello: Station.hello(name), configuration: links, keys: Station.keys(1), tls: tls)
            let recorded = Station.record(link, changes)
            let driver = try MembershipDriver(
                loop: loop, configuration: configuration, keys: ring, seeds: seeds,
                wallClockMilliseconds: { 1_700_000_000_000 },
                describe: { GossipMember(node: Station.node(name), store: 1, gossipAddress: $0) },
                takeOther: { link.accept($0, received: $1) },
                observe: { _, _ in changes.note() })
            driver.knowsOtherwise = { link.hasNode(at: $0) }
            return (
                LoopBound(onLoop: recorded, loop: loop), LoopBound(onLoop: driver, loop: loop), driver.address
            )
        }
        let port = try #require(address.hostAndPort?.port)
        return Node(
            station: Station(id: Station.node(name), port: port, box: box, changes: changes), driver: driver,
            address: address)
    }

    @Test(arguments: [false, true])
    func `one port serves gossip and the link`(isSecured: Bool) async throws {
        let authority = try isSecured ? Authority() : nil
        try await withLoop { loop in
            let a = try await start(
                "a", on: loop, seeds: [], tls: try authority?.issue(commonName: "a", dnsNames: ["a"]))
            let b = try await start(
                "b", on: loop, seeds: [a.address], tls: try authority?.issue(commonName: "b", dnsNames: ["b"]))
            await b.station.know(a.station)
            try await a.station.up(b.station.id)
            try await b.station.up(a.station.id)
            let both: Set<NodeID> = [a.station.id, b.station.id]
            try await poll("gossip") {
                let (ofA, ofB) = (await a.alive, await b.alive)
                return ofA == both && ofB == both
            }
            #expect(await b.station.send([1], on: .calls, to: a.station.id))
            try await a.station.wait("a frame") { $0.payloads(.calls, from: Station.node("b")) == [[1]] }
            let refused = await loop.run { a.driver.value.refusedCount }
            #expect(refused == 0)
        }
    }

    /// They have all the time in the world, and each of the silent ones that is closed is there again at once.
    @Test(arguments: ["", "x", "gsp", "\u{0}\u{0}\u{0}\u{10}\u{0}"])
    func `140 connections that say nothing, or never say it to the end, keep no node out`(words: String) async throws {
        var strangers = StrangerLimits()
        strangers.firstByte = .seconds(600)
        strangers.introduction = .seconds(600)
        var links = Station.eager
        (links.strangers, links.helloTimeout) = (strangers, .seconds(600))
        try await withLoop { [links, strangers] loop in
            let a = try await start("a", on: loop, seeds: [], tls: nil, links: links, strangers: strangers)
            let crowd = (0..<140).map { _ in
                Task {
                    repeat {
                        let stranger = try await RawPeer.connect(to: a.station.port, on: loop)
                        await stranger.send(Array(words.utf8))
                        try await stranger.closed()
                    } while words.isEmpty && !Task.isCancelled
                }
            }
            let result: Result<Void, any Error>
            do {
                let places = strangers.perAddress
                try await poll("no place left") {
                    await loop.run { a.driver.value.strangerCount + a.station.box.value.link.strangerCount } >= places
                }
                let b = try await start("b", on: loop, seeds: [a.address], tls: nil)
                await b.station.know(a.station)
                try await a.station.up(b.station.id)
                try await b.station.up(a.station.id)
                let both: Set<NodeID> = [a.station.id, b.station.id]
                try await poll("gossip") {
                    let (ofA, ofB) = (await a.alive, await b.alive)
                    return ofA == both && ofB == both
                }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            // None of them may look at a loop that has ended.
            for task in crowd { task.cancel() }
            await loop.run {
                a.driver.value.close()
                a.station.box.value.link.close()
            }
            for task in crowd { _ = await task.result }
            try result.get()
        }
    }
}
