import ChatModel
import ClusterLink
import EventLoop
import Gossip
import GossipSeal
import LinkCore
import Membership
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
        _ name: String, on loop: EventLoop, seeds: [GossipAddress], tls: LinkTLS?
    ) async throws -> Node {
        let ring = try #require(KeyRing([[UInt8](repeating: 1, count: KeyRing.keyBytes)]))
        let changes = Changes()
        var configuration = MembershipConfiguration()
        // Everything that is learned is learned by exchanges over TCP.
        configuration.gossip.pushPullInterval = .milliseconds(100)
        let (box, driver, address) = try await loop.run { [configuration] () throws(MembershipError) in
            let link = ClusterLink(
                loop: loop, hello: Station.hello(name), configuration: Station.eager, tls: tls)
            let recorded = Station.record(link, changes)
            let driver = try MembershipDriver(
                loop: loop, configuration: configuration, keys: ring, seeds: seeds,
                wallClockMilliseconds: { 1_700_000_000_000 },
                describe: { GossipMember(node: Station.node(name), store: 1, gossipAddress: $0) },
                takeOther: { link.accept($0, received: $1) },
                observe: { _, _ in changes.note() })
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
}
