import ChatModel
import Testing
import Wire

@testable import ClientCore

/// Stays: entering, order, resume, gaps, kicks.
@Suite struct RoomTests {
    @Test func `entering tells its states, and live messages follow`() {
        let script = Script()
        script.goOnline()
        let ticket = script.ticket()
        script.happens(.enter(ticket: ticket, Script.room, EnterOptions(nick: "Ann", notifyExt: "hi")))
        #expect(script.roomEvents == [.state(.connecting), .state(.entering)])
        #expect(
            script.written.map(\.operation) == [
                .enter(EnterRequest(room: Script.room, nick: "Ann", notifyExt: "hi"))
            ])
        script.answer(script.written.first, .enter(Script.entry(seq: 10)))
        #expect(script.roomEvents.first == .state(.entered))
        guard case .success(.entered(let entry)) = script.outcome(ticket) else {
            return #expect(Bool(false), "must have entered")
        }
        #expect(entry.seq == 10 && entry.recovery == .fresh)
        script.push(seq: 11)
        #expect(script.roomEvents == [.message(Script.message(11))])
    }

    @Test func `the newest messages that the app asks for and the live ones are one sequence, also in another epoch`() {
        let script = Script()
        script.goOnline()
        script.happens(.enter(ticket: script.ticket(), Script.room, EnterOptions(history: 3)))
        #expect(script.written.map(\.operation) == [.enter(EnterRequest(room: Script.room, history: 3))])
        var result = Script.entry(seq: 10)
        result.missed = (8...10).map { Script.message($0) }
        script.answer(script.written.first, .enter(result))
        script.push(seq: 10)
        script.push(seq: 11)
        #expect(Script.seqs(Script.roomEvents(script.effects)) == [8, 9, 10, 11])
        let enter = script.comeBack()
        #expect(enter?.operation == .enter(EnterRequest(room: Script.room, since: 11, epoch: "e", history: 3)))
        result = Script.entry(seq: 3, epoch: "f")
        result.recovered = false
        result.missed = (2...3).map { Script.message($0) }
        script.answer(enter, .enter(result))
        script.push(seq: 4)
        #expect(Script.seqs(Script.roomEvents(script.effects)) == [8, 9, 10, 11, 2, 3, 4])
    }

    @Test func `a message comes once`() {
        let script = Script()
        script.goIn(seq: 10)
        for seq in [11, 11, 10, 12, 11] as [UInt64] { script.push(seq: seq) }
        #expect(Script.seqs(Script.roomEvents(script.effects)) == [11, 12])
    }

    @Test func `coming back asks from where it was and gets what was missed`() throws {
        let script = Script()
        script.goIn(seq: 10)
        script.push(seq: 11)
        let enter = script.comeBack()
        #expect(enter?.operation == .enter(EnterRequest(room: Script.room, since: 11, epoch: "e")))
        script.answer(enter, .enter(Script.resumed(seq: 13, missed: 12...13)))
        #expect(Script.seqs(script.roomEvents) == [12, 13])
        script.push(seq: 14)
        #expect(Script.seqs(Script.roomEvents(script.effects)) == [11, 12, 13, 14])
    }

    @Test func `a server that does not know of the stay makes the client enter from where it was, and ask again`() {
        let script = Script()
        script.goIn(seq: 10)
        script.push(seq: 11)
        let ticket = script.ticket()
        let send = SendRequest(
            room: Script.room, clientID: "c", draft: MessageDraft(body: .text("hello")))
        script.happens(.perform(ticket: ticket, .send(send)))
        script.refuse(script.written.last, ChatError(.notInRoom, "who is that?"))
        #expect(script.outcome(ticket) == nil, "it is sent again")
        #expect(script.roomEvents == [.state(.lost), .state(.entering)])
        let enter = script.written.last
        #expect(enter?.operation == .enter(EnterRequest(room: Script.room, since: 11, epoch: "e")))
        script.answer(enter, .enter(Script.resumed(seq: 13, missed: 12...13)))
        #expect(Script.seqs(script.roomEvents) == [12, 13])
        #expect(script.written.last?.operation == .send(send))
        // Not for ever.
        for _ in 0..<2 {
            script.refuse(script.written.last, ChatError(.notInRoom, "who is that?"))
            if let enter = script.written.last, case .enter = enter.operation {
                script.answer(enter, .enter(Script.resumed(seq: 13)))
            }
        }
        guard case .failure(let error)? = script.outcome(ticket) else {
            return #expect(Bool(false), "the refusal is its answer")
        }
        #expect(error.refusal?.code == .notInRoom)
    }

    @Test func `a viewer who never sends, whose reads are refused for not being in the room, loses nothing`() {
        let script = Script()
        script.goIn(seq: 0)
        let enter = script.comeBack()
        script.answer(enter, .enter(Script.resumed(seq: 250, missed: 1...100, more: true)))
        let read = script.written.last
        script.push(seq: 251)
        guard case .history? = read?.operation else { return #expect(Bool(false), "it reads") }
        script.refuse(read, ChatError(.notInRoom, "who is that?"))
        #expect(script.roomEvents == [.state(.lost), .state(.entering)])
        let again = script.written.last
        #expect(again?.operation == .enter(EnterRequest(room: Script.room, since: 100, epoch: "e")))
        script.answer(again, .enter(Script.resumed(seq: 252, missed: 101...200, more: true)))
        guard case .history(let history)? = script.written.last?.operation else {
            return #expect(Bool(false), "it reads what it has missed by then")
        }
        #expect(history.query.afterSeq == 200)
        // Not for ever: a server that goes on like this has its way.
        for _ in 0..<2 {
            script.refuse(script.written.last, ChatError(.notInRoom, "who is that?"))
            guard let enter = script.written.last, case .enter = enter.operation else { break }
            script.answer(enter, .enter(Script.resumed(seq: 252, more: true)))
        }
        #expect(
            Script.roomEvents(script.effects).contains {
                if case .gap = $0 { true } else { false }
            }, "what can't be read is told")
    }

    @Test func `a client that has received nothing yet resumes too`() {
        let script = Script()
        script.goIn(seq: 0)
        let enter = script.comeBack()
        #expect(enter?.operation == .enter(EnterRequest(room: Script.room, since: 0, epoch: "e")))
        script.answer(enter, .enter(Script.resumed(seq: 2, missed: 1...2)))
        #expect(Script.seqs(script.roomEvents) == [1, 2])
    }

    @Test func `more than 100 missed are read from history while live pushes wait`() {
        let script = Script()
        script.goIn(seq: 0)
        let enter = script.comeBack()
        script.answer(enter, .enter(Script.resumed(seq: 250, missed: 1...100, more: true)))
        #expect(Script.seqs(script.roomEvents) == Array(1...100))
        var query = HistoryRequest()
        (query.ascending, query.limit, query.afterSeq) = (true, 100, 100)
        let first = script.written.first
        #expect(first?.operation == .history(RoomHistoryRequest(room: Script.room, query: query)))
        script.push(seq: 251)
        #expect(script.roomEvents.isEmpty, "it waits")
        script.answer(first, .history(MessagesResult(messages: (101...200).map(Script.message), more: true)))
        #expect(Script.seqs(script.roomEvents) == Array(101...200))
        let second = script.written.first
        query.limit = 50
        query.afterSeq = 200
        #expect(second?.operation == .history(RoomHistoryRequest(room: Script.room, query: query)))
        // A page reaches beyond the reply's seq: what is live comes from the live pushes.
        script.answer(second, .history(MessagesResult(messages: (201...251).map(Script.message), more: false)))
        #expect(Script.seqs(script.roomEvents) == Array(201...251))
    }

    @Test func `a history that fails while catching up leaves a told gap and lets live messages through`() {
        let script = Script()
        script.goIn(seq: 0)
        let enter = script.comeBack()
        script.answer(enter, .enter(Script.resumed(seq: 250, missed: 1...100, more: true)))
        let read = script.written.first
        script.push(seq: 251)
        script.refuse(read, ChatError(.notFound, "gone"))
        #expect(
            script.roomEvents == [
                .gap(Gap(ranges: [101...250], cause: .unavailable)), .message(Script.message(251)),
            ])
    }

    @Test func `a history that is refused for now is asked again`() {
        let script = Script()
        script.goIn(seq: 0)
        let enter = script.comeBack()
        script.answer(enter, .enter(Script.resumed(seq: 150, missed: 1...100, more: true)))
        let read = script.written.first
        script.refuse(read, ChatError(.tooOften, "slow down", retryAfterMs: 200))
        #expect(Script.written(script.pass(milliseconds: 199)).isEmpty)
        #expect(Script.written(script.pass(milliseconds: 1)).map(\.operation) == [read?.operation])
    }

    /// Who enters many rooms at once comes into each.
    @Test func `the rate of entering is no failure, however often it is named`() {
        var settings = ClientSettings()
        settings.retryCount = 1
        let script = Script(settings)
        script.goOnline()
        let ticket = script.ticket()
        script.happens(.enter(ticket: ticket, Script.room, EnterOptions()))
        for _ in 0..<5 {
            script.refuse(script.written.first, ChatError(.tooOften, "wait", retryAfterMs: 100))
            #expect(script.outcome(ticket) == nil)
            script.pass(milliseconds: 100)
        }
        // A long wait is one.
        script.refuse(script.written.first, ChatError(.tooOften, "wait", retryAfterMs: 6_000))
        #expect(script.outcome(ticket) == nil)
        let last = Script.written(script.pass(milliseconds: 6_000)).first
        script.refuse(last, ChatError(.tooOften, "wait", retryAfterMs: 6_000))
        #expect(script.failure(ticket)?.code == .refused)
    }

    @Test func `entering again while history is read changes nothing of what is read`() {
        let script = Script()
        script.goIn(seq: 0)
        let enter = script.comeBack()
        script.answer(enter, .enter(Script.resumed(seq: 500, missed: 1...100, more: true)))
        let first = script.written.first
        script.happens(.enter(ticket: script.ticket(), Script.room, EnterOptions(nick: "Annie")))
        let again = script.written.first
        #expect(script.written.count == 1)
        script.push(seq: 501)
        // The server answers in the order in which it was asked, but not necessarily before the next page is wanted.
        script.answer(again, .enter(Script.resumed(seq: 501, missed: 101...200, more: true)))
        #expect(Script.written(script.latest).isEmpty, "it is being read")
        var read = first
        for page in 1...4 {
            let from = UInt64(page) * 100 + 1
            script.answer(read, .history(MessagesResult(messages: (from...from + 99).map(Script.message), more: true)))
            read = script.written.first
            if page == 1 {
                guard case .history(let request) = read?.operation else { return #expect(Bool(false), "must read on") }
                #expect(request.query.afterSeq == 200)
            }
        }
        if let read { script.answer(read, .history(MessagesResult(messages: [Script.message(501)], more: false))) }
        #expect(Script.seqs(Script.roomEvents(script.effects)) == Array(1...501))
        #expect(!Script.roomEvents(script.effects).contains { if case .gap = $0 { true } else { false } })
    }

    @Test func `a read that waits for the room's owner takes as long as it takes`() {
        let script = Script()
        script.goIn(seq: 0)
        let enter = script.comeBack()
        script.answer(enter, .enter(Script.resumed(seq: 150, missed: 1...100, more: true)))
        let read = script.written.first
        script.push(.state(StatePush(room: Script.room, state: .lost)))
        script.refuse(read, ChatError(.unavailable, "no leader", retryAfterMs: 100))
        for _ in 0..<60 {
            script.pass(milliseconds: 1_000)
            script.happens(.heard(connection: script.connection))
        }
        #expect(script.core.state == .connected)
        script.push(.state(StatePush(room: Script.room, state: .entered)))
        #expect(script.written.map(\.operation) == [read?.operation])
        let page = MessagesResult(messages: (101...150).map(Script.message), more: false)
        script.answer(script.written.first, .history(page))
        #expect(Script.seqs(Script.roomEvents(script.effects)) == Array(1...150))
        // One that is not answered at all ends the connection, which begins anew.
        script.push(.gap(GapPush(room: Script.room, ranges: [SeqRange(from: 151, to: 151)], cause: .slow)))
        script.pass(milliseconds: 5_000)
        for _ in 0..<30 {
            script.happens(.heard(connection: script.connection))
            script.pass(milliseconds: 1_000)
        }
        #expect(script.core.state == .lost)
    }

    @Test func `SLOW gaps beyond the bound are told as not read`() {
        var settings = ClientSettings()
        settings.gapReadsMax = 2
        let script = Script(settings)
        script.goIn(seq: 10)
        let ranges = [11, 13, 15].map { SeqRange(from: $0, to: $0) }
        script.push(.gap(GapPush(room: Script.room, ranges: ranges, cause: .slow)))
        #expect(
            script.roomEvents == [
                .gap(Gap(ranges: [11...11, 13...13, 15...15], cause: .slow)),
                .gap(Gap(ranges: [15...15], cause: .unavailable)),
            ])
        #expect(Script.written(script.pass(milliseconds: 5_000)).count == 2)
    }

    @Test func `pushes beyond the bound are left to history`() {
        var settings = ClientSettings()
        settings.heldPushesMax = 3
        let script = Script(settings)
        script.goIn(seq: 0)
        let enter = script.comeBack()
        script.answer(enter, .enter(Script.resumed(seq: 110, missed: 1...100, more: true)))
        let read = script.written.first
        for seq in 111...115 as ClosedRange<UInt64> { script.push(seq: seq) }
        script.answer(read, .history(MessagesResult(messages: (101...110).map(Script.message), more: true)))
        let rest = script.written.first
        guard case .history(let request) = rest?.operation else { return #expect(Bool(false), "must read on") }
        #expect(request.query.afterSeq == 110)
        script.answer(rest, .history(MessagesResult(messages: (111...115).map(Script.message), more: false)))
        script.push(seq: 116)
        #expect(Script.seqs(Script.roomEvents(script.effects)) == Array(1...116))
    }

    @Test func `another epoch is told, never silently`() {
        for result in [Script.resumed(seq: 5, epoch: "other"), Script.entry(seq: 5)] {
            let script = Script()
            script.goIn(seq: 10)
            let enter = script.comeBack()
            script.answer(enter, .enter(result))
            let entries = script.roomEvents.compactMap {
                if case .entered(let entry) = $0 { entry.recovery } else { nil }
            }
            #expect(entries == [.impossible])
            script.push(seq: 6)
            #expect(Script.seqs(script.roomEvents) == [6])
        }
    }

    @Test func `a SLOW gap is told at once and read after at most 5 s`() {
        let script = Script()
        script.goIn(seq: 10)
        script.push(.gap(GapPush(room: Script.room, ranges: [SeqRange(from: 9, to: 20)], cause: .slow)))
        #expect(script.roomEvents == [.gap(Gap(ranges: [11...20], cause: .slow))])
        script.push(seq: 21)
        let reads = Script.written(script.pass(milliseconds: 5_000))
        var query = HistoryRequest()
        (query.ascending, query.limit, query.afterSeq) = (true, 10, 10)
        #expect(reads.map(\.operation) == [.history(RoomHistoryRequest(room: Script.room, query: query))])
        script.answer(reads.first, .history(MessagesResult(messages: (11...20).map(Script.message), more: true)))
        #expect(script.roomEvents == [.filled((11...20).map(Script.message))])
        #expect(script.core.nextDeadline.map { $0.milliseconds - script.now.milliseconds > 5_000 } ?? false)
    }

    @Test func `what history lacks of a gap is told`() {
        let script = Script()
        script.goIn(seq: 10)
        script.push(.gap(GapPush(room: Script.room, ranges: [SeqRange(from: 11, to: 14)], cause: .slow)))
        let reads = Script.written(script.pass(milliseconds: 5_000))
        script.answer(reads.first, .history(MessagesResult(messages: [Script.message(13)], more: false)))
        #expect(
            script.roomEvents == [
                .filled([Script.message(13)]), .gap(Gap(ranges: [11...12, 14...14], cause: .unavailable)),
            ])
    }

    @Test func `a BUDGET gap comes after its messages and is never read unasked`() {
        let script = Script()
        script.goIn(seq: 10)
        for seq in [11, 14, 15] as [UInt64] { script.push(seq: seq) }
        script.push(.gap(GapPush(room: Script.room, ranges: [SeqRange(from: 12, to: 13)], cause: .budget)))
        #expect(script.roomEvents == [.gap(Gap(ranges: [12...13], cause: .budget))])
        #expect(Script.written(script.pass(milliseconds: 10_000)).isEmpty)
        #expect(Script.seqs(Script.roomEvents(script.effects)) == [11, 14, 15])
    }

    @Test func `a jump that was not explained before the connection was lost is told`() {
        let script = Script()
        script.goIn(seq: 10)
        for seq in [11, 14] as [UInt64] { script.push(seq: seq) }
        script.happens(.closed(connection: 1, code: nil, reason: ""))
        #expect(script.roomEvents == [.gap(Gap(ranges: [12...13], cause: .budget)), .state(.lost)])
    }

    @Test func `a SLOW gap is read after coming back, too`() {
        let script = Script()
        script.goIn(seq: 10)
        script.push(.gap(GapPush(room: Script.room, ranges: [SeqRange(from: 11, to: 12)], cause: .slow)))
        let enter = script.comeBack()
        #expect(enter?.operation == .enter(EnterRequest(room: Script.room, since: 12, epoch: "e")))
        script.answer(enter, .enter(Script.resumed(seq: 12)))
        let reads = Script.written(script.pass(milliseconds: 5_000))
        #expect(reads.count == 1)
        script.answer(reads.first, .history(MessagesResult(messages: (11...12).map(Script.message), more: false)))
        #expect(script.roomEvents == [.filled((11...12).map(Script.message))])
    }

    @Test func `a kick ends the stay, and the client does not come back to it`() {
        let script = Script()
        script.goIn()
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        script.push(.kicked(KickedPush(room: Script.room, reason: .byManager, ext: "why")))
        #expect(script.roomEvents.contains(.kicked(Kick(reason: .byManager, ext: "why"))))
        #expect(script.latest.last == .stayEnded(Script.room))
        #expect(script.failure(ticket)?.code == .outcomeUnknown, "it was sent")
        #expect(script.comeBack() == nil)
        #expect(script.core.connectionState(of: Script.room) == nil)
    }

    @Test func `a kick in front of the reply to connect ends the stay as well`() {
        let script = Script()
        script.goIn()
        script.happens(.closed(connection: script.connection, code: nil, reason: ""))
        script.untilTokenIsWanted()
        for attempt in Script.tokens(script.latest) { script.happens(.token(attempt: attempt, "t")) }
        script.happens(.opened(connection: script.connection))
        let connect = script.written.first
        script.push(.kicked(KickedPush(room: Script.room, reason: .byManager, ext: "why")))
        #expect(script.roomEvents.contains(.kicked(Kick(reason: .byManager, ext: "why"))))
        script.answer(connect, .connect(Script.session(resumed: true)))
        #expect(script.written.allSatisfy { if case .enter = $0.operation { false } else { true } })
        #expect(script.core.connectionState(of: Script.room) == nil)
    }

    @Test func `a refused entry fails, one that is refused for now is tried again`() throws {
        let script = Script()
        script.goOnline()
        let ticket = script.ticket()
        script.happens(.enter(ticket: ticket, Script.room, EnterOptions()))
        script.refuse(script.written.first, ChatError(.unavailable, "no leader", retryAfterMs: 100))
        #expect(script.outcome(ticket) == nil)
        let again = Script.written(script.pass(milliseconds: 100))
        #expect(again.count == 1)
        script.refuse(again.first, ChatError(.roomClosed, "closed"))
        #expect(script.failure(ticket)?.refusal?.code == .roomClosed)
        guard case .state(.failed(let error)) = script.roomEvents.last else {
            return #expect(Bool(false), "must have failed")
        }
        #expect(error.refusal?.code == .roomClosed)
    }

    @Test func `retry count -1 tries to enter without end`() {
        var settings = ClientSettings()
        settings.retryCount = -1
        let script = Script(settings)
        script.goOnline()
        script.happens(.enter(ticket: script.ticket(), Script.room, EnterOptions()))
        var latest = script.written
        for _ in 0..<50 {
            script.refuse(latest.first, ChatError(.unavailable, "no leader", retryAfterMs: 10))
            latest = Script.written(script.pass(milliseconds: 10))
            #expect(latest.count == 1)
        }
    }

    @Test(arguments: [0, 3]) func `the first entry is retried that often`(count: Int) {
        var settings = ClientSettings()
        settings.retryCount = count
        let script = Script(settings)
        script.goOnline()
        let ticket = script.ticket()
        script.happens(.enter(ticket: ticket, Script.room, EnterOptions()))
        var tries = 0
        var latest = script.written
        while let request = latest.first, tries < 10 {
            tries += 1
            script.refuse(request, ChatError(.unavailable, "no leader", retryAfterMs: 10))
            latest = Script.written(script.pass(milliseconds: 10))
        }
        #expect(tries == count + 1)
        #expect(script.failure(ticket)?.refusal?.code == .unavailable)
    }

    @Test func `the room's owner may be away and come back, or not`() {
        let script = Script()
        script.goIn(seq: 10)
        script.push(.state(StatePush(room: Script.room, state: .lost)))
        #expect(script.roomEvents == [.state(.lost)])
        let ticket = script.ticket()
        script.happens(.perform(ticket: ticket, Script.send("a")))
        #expect(script.written.isEmpty, "it waits")
        script.push(.state(StatePush(room: Script.room, state: .entered)))
        #expect(script.written.count == 1)
        script.push(seq: 11)
        #expect(Script.seqs(script.roomEvents) == [11])
        script.push(.state(StatePush(room: Script.room, state: .failed, error: ChatError(.roomClosed, "gone"))))
        #expect(script.latest.contains(.stayEnded(Script.room)))
        #expect(script.core.connectionState(of: Script.room) == nil)
    }

    @Test func `pushes of rooms that nobody is in are ignored`() throws {
        let script = Script()
        script.goOnline()
        script.push(seq: 1)
        let other = try #require(RoomID("other"))
        script.push(.kicked(KickedPush(room: other, reason: .byManager)))
        script.push(.state(StatePush(room: other, state: .failed)))
        #expect(script.latest.isEmpty)
    }

    @Test func `the largest seqs do not break it`() {
        let script = Script()
        script.goIn(seq: .max)
        script.push(seq: .max)
        script.push(.gap(GapPush(room: Script.room, ranges: [SeqRange(from: 0, to: .max)], cause: .slow)))
        script.push(.gap(GapPush(room: Script.room, ranges: [SeqRange(from: .max, to: 0)], cause: .slow)))
        #expect(Script.roomEvents(script.effects).allSatisfy { if case .message = $0 { false } else { true } })
        let second = Script()
        second.goIn(seq: 0)
        second.push(.gap(GapPush(room: Script.room, ranges: [SeqRange(from: 1, to: .max)], cause: .slow)))
        let reads = Script.written(second.pass(milliseconds: 5_000))
        second.answer(reads.first, .history(MessagesResult(messages: [], more: true)))
        #expect(second.roomEvents == [.gap(Gap(ranges: [1 ... .max], cause: .unavailable))])
    }
}
