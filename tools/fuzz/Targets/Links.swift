import ChatModel
import Consensus
import Replication
import Wire

@testable import NodeLinkCore
@testable import RoomProtocol

/// Bytes between nodes: the frames of the link, and what each lane carries.
extension FuzzTarget {
    /// The bytes of a connection. The first byte tells in what pieces they come.
    static let link = FuzzTarget(name: "link", bytesMax: 1 << 20) { bytes in
        var input = FuzzInput(bytes)
        let piece = Int(input.byte()) + 1
        let (whole, isWholeRefused) = frames(input.rest, input.rest.count)
        let (pieces, arePiecesRefused) = frames(input.rest, piece)
        require(whole == pieces && isWholeRefused == arePiecesRefused, "in pieces of \(piece) it reads otherwise")
        var written: [UInt8] = []
        for frame in whole {
            require(frame.payload.count <= frame.lane.frameBytesMax, "a frame is over the bound of its lane")
            frame.append(to: &written)
        }
        require(input.rest.starts(with: written), "frames are written differently")
        var readers = [NodePayloadReader](repeating: NodePayloadReader(), count: 2)
        for frame in whole {
            switch frame.lane {
            case .control: check(control: frame.payload)
            case .consensus: check(consensus: frame.payload)
            case .calls: check(node: frame.payload, &readers[0])
            case .publications: check(node: frame.payload, &readers[1])
            case .bulk: check(transfer: frame.payload)
            }
        }
    } seeds: { samples in
        var controls: [LinkControl] = [.ping, .credit(.calls, bytes: 70_000)]
        controls.append(
            .hello(LinkHello(cluster: "c", node: samples.node(), store: 1, boot: .max, shards: 64)))
        controls.append(.hello(.newcomer(samples.node())))
        controls.append(.refusal(LinkRefusal(LinkError(.cluster, "of another cluster"))))
        var seeds = controls.map { wired([$0.frame], pieces: 255) }
        seeds.append(wired(controls.map(\.frame), pieces: 2))
        seeds += ConsensusFrames.frames(of: raftMessages(samples.node().text)).map { wired([$0], pieces: 6) }
        seeds += nodeMessages(&samples).flatMap { NodePayload.payloads(of: $0) }.filter { $0.count < 2_000 }.map {
            wired([LinkFrame(.calls, $0), LinkFrame(.publications, $0)], pieces: 100)
        }
        seeds += transferMessages.map { wired([LinkFrame(.bulk, $0.encoded)], pieces: 30) }
        return seeds
    }

    /// The first bytes of a stranger without a key, to a caller or to a called node. The first byte tells which; the
    /// frames follow, each behind two bytes with its length, a hello or a proof.
    static let greeting = FuzzTarget(name: "greeting", bytesMax: 64 << 10) { bytes in
        var input = FuzzInput(bytes)
        let choices = input.byte()
        let own = LinkHello(cluster: "c", node: sender, store: 1, boot: 2, shards: 64)
        var asked: [[UInt8]] = []
        var nonce = [UInt8](repeating: 7, count: LinkHello.nonceBytes)
        nonce[0] = choices
        // No code that comes from outside is right.
        let keys = LinkKeys(prove: { _ in [1, 2, 3] }, accepts: { _, _ in false })
        var greeting = LinkGreeting(
            own, nonce: nonce, isCaller: choices & 2 == 0, expected: choices & 4 == 0 ? nil : NodeID("n2"), keys: keys)
        require((try? LinkControl(greeting.frame.payload)) != nil, "its own hello can't be read")
        while !input.rest.isEmpty {
            let length = Int(input.byte()) << 8 | Int(input.byte())
            let payload = input.take(length)
            guard let control = try? LinkControl(payload) else { return }
            let step: LinkGreeting.Step?
            switch control {
            case .hello(let hello):
                step = try? greeting.heard(
                    hello, payload: payload, certified: choices & 8 == 0 ? nil : hello.node, binding: [])
            case .proof(let proof): step = try? greeting.heard(proof: proof)
            default: return
            }
            asked.append(payload)
            guard let step else { return }
            if case .done(let other, _) = step { require(false, "\(other.node) is believed without a proof") }
            require(asked.count < 2, "a third frame is waited for")
        }
    } seeds: { samples in
        var hello = LinkHello(cluster: "c", node: samples.node(), store: 1, boot: 3, shards: 64)
        hello.nonce = [UInt8](repeating: 9, count: LinkHello.nonceBytes)
        var old = hello
        (old.newestVersion, old.nonce) = (3, [])
        let proof = measured(LinkControl.proof([UInt8](repeating: 1, count: 32)).frame.payload)
        return [hello, old, .newcomer(samples.node())].flatMap { hello in
            let first = measured(LinkControl.hello(hello).frame.payload)
            return (UInt8(0)..<16).map { [$0] + first + proof }
        }
    }

    /// A payload of the lane for consensus.
    static let consensus = FuzzTarget(name: "consensus", bytesMax: 1 << 20) { bytes in
        check(consensus: Array(bytes))
    } seeds: { _ in
        raftMessages(sender.text).flatMap { ConsensusFrames.frames(of: [$0]).map(\.payload) }
            + ConsensusFrames.frames(of: raftMessages(sender.text)).map(\.payload)
    }

    /// Payloads of the lanes for calls and publications, each behind two bytes with its length.
    static let node = FuzzTarget(name: "node", bytesMax: 1 << 20) { bytes in
        var input = FuzzInput(bytes)
        var reader = NodePayloadReader()
        while !input.rest.isEmpty {
            let length = Int(input.byte()) << 8 | Int(input.byte())
            check(node: input.take(length), &reader)
        }
    } seeds: { samples in
        var seeds = nodeMessages(&samples).map { message in
            NodePayload.payloads(of: message).filter { $0.count <= 4_000 }.flatMap { measured($0) }
        }
        let payload = NodePayload.payloads(of: .bodyRequest(BodyNames(life: 1, numbers: [2, 3, .max])))[0]
        let part = PayloadParts.parts(of: payload)[0]
        seeds.append(measured(part))
        return seeds.filter { !$0.isEmpty }
    }

    /// A payload of the lane for transfers.
    static let transfer = FuzzTarget(name: "transfer", bytesMax: 256 << 10) { bytes in
        check(transfer: Array(bytes))
    } seeds: { _ in
        transferMessages.map(\.encoded)
    }

    // MARK: - Checks

    private static let sender: NodeID = {
        guard let node = NodeID("n1") else { fail("no node") }
        return node
    }()

    private static func frames(_ bytes: UnsafeRawBufferPointer, _ piece: Int) -> ([LinkFrame], Bool) {
        var reader = LinkFrameReader()
        var frames: [LinkFrame] = []
        var isRefused = false
        forEachPiece(bytes, of: piece) { bytes in
            reader.append(bytes)
            do throws(LinkError) {
                while let frame = try reader.next() { frames.append(frame) }
            } catch { isRefused = true }
            return !isRefused
        }
        return (frames, isRefused)
    }

    private static func check(control payload: [UInt8]) {
        guard let control = try? LinkControl(payload) else { return }
        let frame = control.frame
        guard let again = try? LinkControl(frame.payload) else { fail("\(control) can't be read") }
        require(again == control, "\(control) becomes \(again)")
        // Whatever a stranger says at first is judged.
        guard case .hello(let hello) = control else { return }
        let own = LinkHello(cluster: "c", node: sender, store: 1, boot: 2, shards: 64)
        var peers = LinkPeers(me: own)
        let first = LinkPeers.ConnectionID(1)
        _ = peers.hello(hello, on: first, expected: nil, certified: nil, at: 1)
        _ = peers.hello(hello, on: LinkPeers.ConnectionID(2), expected: hello.node, certified: hello.node, at: 2)
        _ = peers.closed(first, at: 3)
        _ = peers.tick(at: 10_000)
    }

    private static func consensusMessages(in payload: [UInt8]) -> [RaftMessage]? {
        try? ConsensusFrames.messages(in: payload, from: sender, store: 1)
    }

    private static func check(consensus payload: [UInt8]) {
        guard let messages = consensusMessages(in: payload) else { return }
        let frames = ConsensusFrames.frames(of: messages)
        var again: [RaftMessage] = []
        for frame in frames {
            require(frame.payload.count <= frame.lane.frameBytesMax, "a consensus frame is over its bound")
            guard let some = consensusMessages(in: frame.payload) else {
                fail("consensus messages can't be read again")
            }
            again += some
        }
        require(again == messages, "consensus messages become others")
    }

    private static func check(node payload: [UInt8], _ reader: inout NodePayloadReader) {
        guard let message = (try? reader.read(payload)) ?? nil else { return }
        let payloads = NodePayload.payloads(of: message)
        var other = NodePayloadReader()
        var again: [NodeMessage] = []
        for payload in payloads {
            do throws(NodeMessageError) {
                if let message = try other.read(payload) { again.append(message) }
            } catch { fail("what was written can't be read: \(error)") }
        }
        // This program writes what it understands in one way; the first reading may have left out what it does not
        // know.
        let once = again.flatMap { NodePayload.payloads(of: $0) }
        require(once == payloads, "a message is written differently: \(message)")
        if case .publications(let publications) = message {
            for publication in publications where publication.outputs.allSatisfy({ !isShared($0) }) {
                for (lane, _) in NodePublication.byLane([publication]) {
                    publication.forEachOutput(of: lane) { _ in }
                }
            }
        }
    }

    private static func isShared(_ output: NodePublication.Output) -> Bool {
        if case .shared = output { true } else { false }
    }

    private static func check(transfer payload: [UInt8]) {
        guard let message = try? ReplicationMessage(decoding: payload) else { return }
        guard let again = try? ReplicationMessage(decoding: message.encoded) else { fail("\(message) can't be read") }
        require(again == message, "\(message) becomes \(again)")
        _ = try? SnapshotMark(decoding: payload)
    }

    // MARK: - Seeds

    private static func wired(_ frames: [LinkFrame], pieces: UInt8) -> [UInt8] {
        var bytes = [pieces]
        for frame in frames { frame.append(to: &bytes) }
        return bytes
    }

    private static func measured(_ payload: [UInt8]) -> [UInt8] {
        [UInt8(truncatingIfNeeded: payload.count >> 8), UInt8(truncatingIfNeeded: payload.count)] + payload
    }

    private static func raftMessages(_ node: String) -> [RaftMessage] {
        let (a, b) = (ServerID(node: node, store: 1), ServerID(node: "b", store: .max))
        let mark = SnapshotMark(index: 9, term: 3, membership: GroupMembership(voters: [a, b]))
        let entries = [
            Entry(index: 8, term: 3, kind: .command, payload: [0x78]),
            Entry(index: 9, term: 4, kind: .empty, payload: []),
            Entry(index: 10, term: 4, kind: .membership, payload: [1, 2]),
        ]
        let bodies: [RaftMessage.Body] = [
            .preVote(lastIndex: 1, lastTerm: 2), .preVoteReply(granted: true),
            .vote(lastIndex: .max, lastTerm: 2, isTransfer: true), .voteReply(granted: true),
            .append(previousIndex: 7, previousTerm: 3, commitIndex: 6, entries: entries),
            .appendAccepted(matchIndex: 9),
            .appendRejected(previousIndex: 9, hintIndex: 4, hintTerm: 2), .heartbeat(commitIndex: 5, readRound: 6),
            .heartbeatReply(readRound: 7), .snapshot(mark), .snapshotFailed(index: 3), .timeoutNow, .higherTerm,
        ]
        return bodies.map { RaftMessage(group: GroupID(3), from: a, to: b, term: 4, body: $0) }
    }

    private static func nodeMessages(_ samples: inout Samples) -> [NodeMessage] {
        let room = samples.room()
        var messages = samples.roomRequests().map { NodeMessage.requests([$0]) }
        messages += samples.outputs().map {
            .publications([NodePublication(room: room, term: 3, lanes: [0, 2], outputs: [.all($0), .lane(1, $0)])])
        }
        messages += samples.serverAnswers().map { .answers([$0]) }
        messages += samples.questions().map { .question(id: 5, $0) }
        messages += samples.answers().map { .answer(id: 6, .success($0)) }
        messages.append(.answer(id: 7, .failure(samples.error())))
        messages.append(.bodyRequest(BodyNames(life: 1, numbers: [2, 3, .max])))
        messages.append(.bodiesGone(BodyNames(life: 1, numbers: [])))
        messages.append(
            .uses([UserUse(user: samples.user(), changes: 3, reads: 6, bytes: 100_000), UserUse(user: samples.user())]))
        return messages
    }

    private static let transferMessages: [ReplicationMessage] = {
        let mark = SnapshotMark(
            index: 9, term: 3, membership: GroupMembership(voters: [ServerID(node: "a", store: 1)]))
        let bodies: [ReplicationMessage.Body] = [
            .askSnapshot(index: 9, next: 3, end: 7, isRepeat: true), .beginSnapshot(mark),
            .snapshotChunk(number: 0, [UInt8](repeating: 5, count: 40)), .endSnapshot(chunks: 4, checksum: .max),
            .askDays(index: 9), .days([HistoryDay(day: -3, lastIndex: 0), HistoryDay(day: 20_000, lastIndex: .max)]),
            .askHistory(HistoryQuestion(day: 20_000, cursor: [1, 2], changedAfter: 5, index: 9, offset: 200_000)),
            .history(HistoryPart(day: -3, cursor: [], offset: 0, total: 3, checksum: 7, bytes: [1, 2, 3], next: [4])),
            .abort(ReplicationError(.busy, "why")), .complete(store: .max, index: 9),
        ]
        return bodies.map { ReplicationMessage(group: GroupID(3), transfer: 1, $0) }
    }()
}
