import ChatModel
import RoomCore
import RoomProtocol
import Testing
import Wire

/// What a room emits in a turn reaches each lane in the order of the stream, and each node once.
struct TurnStreamTests {
    private func lane(_ node: String, _ number: Int) throws -> Lane {
        Lane(node: try #require(NodeID(node)), number: number)
    }

    private func message(_ seq: UInt64) throws -> Message {
        let room = try #require(RoomID("r"))
        return Message(
            room: room, place: .kept(seq: seq), messageID: "m\(seq)", time: Timestamp(1),
            from: nil,
            body: .text("hello"))
    }

    private func reply(_ request: UInt32) throws -> RoomOutput {
        .reply(try #require(SessionID("s")), request: request, .success(.exit))
    }

    /// The requests that are answered and the seqs that are shown, as one lane gets them.
    private func seen(_ publications: [(NodeID, NodePublication)], by lane: Lane) -> [String] {
        let ofNode = publications.filter { $0.0 == lane.node }.map(\.1)
        var ofLane: [RoomOutput] = []
        for position in NodePublication.byLane(ofNode).first(where: { $0.lane == lane.number })?.positions ?? [] {
            ofNode[position].forEachOutput(of: lane.number) { ofLane.append($0) }
        }
        return ofLane.map { output in
            switch output {
            case .reply(_, let request, _, _, _): "reply \(request)"
            case .frame(let frame): "shown \(frame.keptSeqs.map { "\($0.lowerBound)-\($0.upperBound)" } ?? "?")"
            default: "\(output)"
            }
        }
    }

    @Test func `what is for everybody stands once in each node's publication, and every lane sees it in its place`()
        throws
    {
        var stream = TurnStream()
        stream.encodings = [.json]
        let lanes = [try lane("a", 0), try lane("a", 1), try lane("b", 0), try lane("b", 3)]
        try stream.show(message(1))
        stream.notify(lanes[1], try reply(10))
        stream.endFrame()
        stream.notify(lanes[3], try reply(11))
        try stream.show(message(2))
        let room = try #require(RoomID("r"))
        let taken = stream.take(room: room, term: 4, viewerLanes: lanes)
        #expect(taken.map(\.0.text) == ["a", "b"])
        for (_, publication) in taken {
            #expect(publication.outputs.count { if case .all = $0 { true } else { false } } == 2)
            #expect(publication.lanes.count == 2 && publication.term == 4)
        }
        #expect(seen(taken, by: lanes[0]) == ["shown 1-1", "shown 2-2"])
        #expect(seen(taken, by: lanes[1]) == ["reply 10", "shown 1-1", "shown 2-2"])
        #expect(seen(taken, by: lanes[2]) == ["shown 1-1", "shown 2-2"])
        #expect(seen(taken, by: lanes[3]) == ["shown 1-1", "reply 11", "shown 2-2"])
        let none = stream.take(room: room, term: 4, viewerLanes: lanes)
        #expect(none.isEmpty)
    }

    @Test func `a frame has no holes: lanes see by it what was left out`() throws {
        var stream = TurnStream()
        stream.encodings = [.json]
        for seq: UInt64 in [1, 2, 5, 6, 9] { try stream.show(message(seq)) }
        let lane = try lane("a", 0)
        let taken = stream.take(room: try #require(RoomID("r")), term: 1, viewerLanes: [lane])
        #expect(seen(taken, by: lane) == ["shown 1-2", "shown 5-6", "shown 9-9"])
    }

    @Test func `a lane that waits sees nothing, and one that joins only what comes after`() throws {
        var stream = TurnStream()
        stream.encodings = [.json]
        let lanes = [try lane("a", 0), try lane("a", 1), try lane("b", 0)]
        stream.wait(lanes[1], hasMissedAll: false)
        stream.wait(lanes[2], hasMissedAll: false)
        try stream.show(message(1))
        stream.join(lanes[1])
        stream.notify(lanes[1], try reply(10))
        try stream.show(message(2))
        let room = try #require(RoomID("r"))
        let taken = stream.take(room: room, term: 1, viewerLanes: lanes)
        #expect(seen(taken, by: lanes[0]) == ["shown 1-1", "shown 2-2"])
        #expect(seen(taken, by: lanes[1]) == ["reply 10", "shown 2-2"])
        #expect(seen(taken, by: lanes[2]).isEmpty)
        // From the next turn on it is like the others.
        try stream.show(message(3))
        let next = stream.take(room: room, term: 1, viewerLanes: lanes)
        #expect(seen(next, by: lanes[1]) == ["shown 3-3"] && seen(next, by: lanes[2]).isEmpty)
    }

    @Test func `a lane whose node is lost does not wait for ever`() throws {
        var stream = TurnStream()
        stream.encodings = [.json]
        let (lost, other) = (try lane("a", 0), try lane("b", 0))
        stream.wait(lost, hasMissedAll: false)
        stream.wait(other, hasMissedAll: false)
        stream.lose(lost.node, lanes: [lost])
        #expect(!stream.isWaiting(lost) && stream.isWaiting(other))
    }

    /// The texts of the frames that a lane is shown after `following`.
    private func told(_ stream: inout TurnStream, follows lane: Lane, number: UInt64 = 1, untaken: UInt64 = 0) throws
        -> [String]
    {
        let room = try #require(RoomID("r"))
        var place = StreamPlace(epoch: "e", seq: 9)
        place.untaken = untaken
        stream.follow(
            place, lane, number: number, room: room, epoch: "e", tail: HotTail(), lastSeq: 9)
        let taken = stream.take(room: room, term: 1, viewerLanes: [lane])
        return frames(taken).compactMap { frame in
            frame.json.flatMap { String(decoding: $0, as: UTF8.self) }.flatMap { text in
                text.firstIndex(of: "{").map { String(text[$0...]) }
            }
        }
    }

    /// A frame of so many items of barrage, or of unkept messages.
    private func unkept(_ stream: TurnStream, barrage: Int = 0, messages: Int = 0) -> RoomOutput {
        .frame(stream.blankWriter.frame(.barrage(.low), unkept: messages, barrage: barrage))
    }

    @Test func `a lane that was shown nothing by a new leader is told what is in no history, once`() throws {
        var stream = TurnStream()
        stream.encodings = [.json]
        let (first, second) = (try lane("a", 0), try lane("b", 0))
        stream.publishToEverybody(unkept(stream, barrage: 3))
        stream.publishToEverybody(.barrage(nil, skipped: 4))
        stream.wait(second, hasMissedAll: true)
        stream.publishToEverybody(unkept(stream, messages: 2))
        #expect(try told(&stream, follows: second) == [#"{"skipped":{"room":"r","barrage":7,"unkept":2}}"#])
        #expect(try told(&stream, follows: second).isEmpty)
        // One whose connection to its node began anew has missed what came since.
        stream.lose(first.node, lanes: [first])
        stream.publishToEverybody(unkept(stream, barrage: 5))
        stream.wait(first, hasMissedAll: false)
        stream.publishToEverybody(unkept(stream, barrage: 6))
        #expect(try told(&stream, follows: first) == [#"{"skipped":{"room":"r","barrage":11,"unkept":0}}"#])
        // One that comes when nothing was shown is told nothing.
        stream.wait(second, hasMissedAll: false)
        #expect(try told(&stream, follows: second).isEmpty)
    }

    @Test func `a lost lane that this leader has shown nothing has missed all that it showed`() throws {
        var stream = TurnStream()
        stream.encodings = [.json]
        let (known, inherited) = (try lane("a", 0), try lane("a", 1))
        stream.publishToEverybody(unkept(stream, barrage: 3, messages: 1))
        stream.inherit(inherited)
        stream.lose(known.node, lanes: [known, inherited])
        stream.publishToEverybody(unkept(stream, barrage: 2))
        for lane in [known, inherited] { stream.wait(lane, hasMissedAll: false) }
        #expect(try told(&stream, follows: inherited) == [#"{"skipped":{"room":"r","barrage":5,"unkept":1}}"#])
        #expect(try told(&stream, follows: known) == [#"{"skipped":{"room":"r","barrage":2,"unkept":0}}"#])
    }

    @Test func `somebody enters through an inherited lane that has nobody to announce, and has missed nothing`() throws
    {
        var stream = TurnStream()
        stream.encodings = [.json]
        let lane = try lane("a", 0)
        stream.inherit(lane)
        stream.publishToEverybody(unkept(stream, barrage: 3))
        stream.enter(lane)
        #expect(try told(&stream, follows: lane).isEmpty)
        // One that waits has announced some, who have missed it.
        stream.inherit(lane)
        stream.wait(lane, hasMissedAll: false)
        stream.enter(lane)
        #expect(try told(&stream, follows: lane) == [#"{"skipped":{"room":"r","barrage":3,"unkept":0}}"#])
    }

    /// The frames for some sessions of a lane alone: which, and the text.
    private func toldAlone(_ publications: [(NodeID, NodePublication)]) -> [String] {
        publications.flatMap(\.1.outputs).compactMap { output in
            guard case .lane(_, .frameFor(let sessions, let frame)) = output else { return nil }
            let text = frame.json.map { String(decoding: $0, as: UTF8.self) } ?? ""
            return sessions.map(\.text).joined(separator: " ") + " "
                + (text.firstIndex(of: "{").map { String(text[$0...]) } ?? "")
        }
    }

    @Test func `messages for some alone that a lost lane missed are told to these alone`() throws {
        let room = try #require(RoomID("r"))
        var stream = TurnStream()
        stream.encodings = [.json]
        let (lost, other) = (try lane("a", 0), try lane("b", 0))
        let (ann, bob) = (try #require(SessionID("ann")), try #require(SessionID("bob")))
        var directed = Message(
            room: room, place: .unkept(after: 1), messageID: "d", time: Timestamp(1), from: nil, body: .text("hello"))
        // The viewer budget shows it to some only, and names it as left out.
        stream.lose(lost.node, lanes: [lost])
        stream.show(directed, to: [(lost, [bob])])
        directed.to = [try #require(UserID("ann"))]
        stream.show(directed, to: [(lost, [ann, bob]), (other, [ann])])
        stream.show(directed, to: [(lost, [ann])])
        _ = stream.take(room: room, term: 1, viewerLanes: [lost, other])
        stream.wait(lost, hasMissedAll: false)
        // It has announced its sessions, and takes nothing before it is told that it follows.
        stream.show(directed, to: [(lost, [bob])])
        _ = stream.take(room: room, term: 1, viewerLanes: [lost, other])
        let place = StreamPlace(epoch: "e", seq: 9)
        for lane in [other, lost, lost] {
            stream.follow(place, lane, number: 1, room: room, epoch: "e", tail: HotTail(), lastSeq: 9)
        }
        #expect(
            toldAlone(stream.take(room: room, term: 1, viewerLanes: [lost, other])) == [
                #"ann bob {"skipped":{"room":"r","barrage":0,"unkept":2}}"#
            ])
    }

    @Test func `a lane that has not taken what it was told is told it again, with what came since`() throws {
        let room = try #require(RoomID("r"))
        var stream = TurnStream()
        stream.encodings = [.json]
        let (lane, ann) = (try lane("a", 0), try #require(SessionID("ann")))
        var directed = Message(
            room: room, place: .unkept(after: 1), messageID: "d", time: Timestamp(1), from: nil, body: .text("hello"))
        directed.to = [try #require(UserID("ann"))]
        stream.lose(lane.node, lanes: [lane])
        stream.publishToEverybody(unkept(stream, barrage: 3))
        stream.show(directed, to: [(lane, [ann])])
        stream.wait(lane, hasMissedAll: false)
        #expect(try told(&stream, follows: lane) == [#"{"skipped":{"room":"r","barrage":3,"unkept":0}}"#])
        // The link ended with it.
        stream.lose(lane.node, lanes: [lane])
        stream.publishToEverybody(unkept(stream, barrage: 2))
        stream.wait(lane, hasMissedAll: false)
        stream.follow(
            { () -> StreamPlace in
                var place = StreamPlace(epoch: "e", seq: 9)
                place.untaken = 1
                return place
            }(), lane, number: 2, room: room, epoch: "e", tail: HotTail(), lastSeq: 9)
        let taken = stream.take(room: room, term: 1, viewerLanes: [lane])
        #expect(toldAlone(taken) == [#"ann {"skipped":{"room":"r","barrage":0,"unkept":1}}"#])
        #expect(
            frames(taken).compactMap(\.json).map { String(decoding: $0, as: UTF8.self).contains(#""barrage":5"#) } == [
                true
            ])
        // It has taken this, but the next one got lost on its way here.
        stream.wait(lane, hasMissedAll: false)
        stream.publishToEverybody(unkept(stream, barrage: 1))
        #expect(
            try told(&stream, follows: lane, number: 4, untaken: 3) == [
                #"{"skipped":{"room":"r","barrage":1,"unkept":0}}"#
            ])
    }

    @Test func `viewers whose grace was over when they are announced again are told what they missed`() throws {
        let room = try #require(RoomID("r"))
        var stream = TurnStream()
        stream.encodings = [.json]
        let (lost, other) = (try lane("a", 0), try lane("b", 0))
        stream.lose(lost.node, lanes: [lost])
        for viewers in [[lost, other], [other]] {
            stream.publishToEverybody(unkept(stream, barrage: 3))
            _ = stream.take(room: room, term: 1, viewerLanes: viewers)
        }
        stream.wait(lost, hasMissedAll: false)
        #expect(try told(&stream, follows: lost) == [#"{"skipped":{"room":"r","barrage":6,"unkept":0}}"#])
    }

    @Test func `a lane that has no viewers any more is told what put its last one out`() throws {
        var stream = TurnStream()
        stream.encodings = [.json]
        let gone = try lane("b", 1)
        try stream.show(message(1))
        stream.endFrame()
        stream.notify(gone, try reply(5))
        let taken = stream.take(
            room: try #require(RoomID("r")), term: 1, viewerLanes: [try lane("a", 0), try lane("b", 0)])
        #expect(seen(taken, by: gone) == ["shown 1-1", "reply 5"])
        #expect(seen(taken, by: try lane("b", 0)) == ["shown 1-1"])
    }

    private func long(_ seq: UInt64) throws -> Message {
        var message = try message(seq)
        message.body = .text(String(repeating: "x", count: 32_000))
        return message
    }

    private func frames(_ publications: [(NodeID, NodePublication)]) -> [SharedFrame] {
        publications.flatMap(\.1.outputs).compactMap { output in
            switch output {
            case .all(.frame(let frame)), .lane(_, .frame(let frame)): frame
            default: nil
            }
        }
    }

    /// Both encodings, and every frame of them.
    private func expectBounded(_ frames: [SharedFrame], _ seqs: ClosedRange<UInt64>) {
        for frame in frames {
            #expect((frame.json?.count ?? 0) <= Limits.frameBytes)
            #expect((frame.protobuf?.count ?? 0) <= Limits.frameBytes)
            #expect((frame.json?.count ?? 0) > 0 && (frame.protobuf?.count ?? 0) > 0)
        }
        #expect(frames.compactMap(\.keptSeqs).flatMap { Array($0) } == Array(seqs), "without a hole, each once")
        #expect(frames.count <= seqs.count / 7 + 1, "and as few as will do")
    }

    @Test func `a turn of long messages makes frames of at most 256 KB`() throws {
        let room = try #require(RoomID("r"))
        let viewer = try lane("n1", 0)
        var stream = TurnStream()
        stream.encodings = ClientEncodings(ClientEncoding.allCases.map { ClientEncodings($0) })
        for seq in UInt64(1)...40 { stream.show(try long(seq)) }
        expectBounded(frames(stream.take(room: room, term: 1, viewerLanes: [viewer])), 1...40)
    }

    @Test func `a lane that follows gets what it lacks in frames of at most 256 KB`() throws {
        let room = try #require(RoomID("r"))
        let viewer = try lane("n1", 0)
        var stream = TurnStream()
        stream.encodings = ClientEncodings(ClientEncoding.allCases.map { ClientEncodings($0) })
        var tail = HotTail()
        for seq in UInt64(1)...25 { tail.append(try long(seq)) }
        stream.follow(
            StreamPlace(epoch: "e", seq: 2), viewer, number: 1, room: room, epoch: "e", tail: tail, lastSeq: 25)
        expectBounded(frames(stream.take(room: room, term: 1, viewerLanes: [viewer])), 3...25)
    }
}
