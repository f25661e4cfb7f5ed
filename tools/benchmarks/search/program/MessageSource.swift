import ChatModel
import History
import Wire

/// Messages of many rooms, the same for each run: half of them English, half Chinese, with words as often as in a language.
struct MessageSource {
    private let rooms: Int
    private var seqs: [UInt64]
    private var state: UInt64 = 0x9E37_79B9_7F4A_7C15
    private let words: [String]
    private let profile = Profile(
        nick: "Somebody", avatar: "https://cdn.example.com/avatars/128/0123456789.png", ext: "")

    init(rooms: Int) {
        self.rooms = rooms
        seqs = Array(repeating: 0, count: rooms)
        var letters = Xorshift(state: 7)
        words = (0..<20_000).map { _ in
            String(
                (0..<(2 + letters.next() % 8)).map { _ in Character(Unicode.Scalar(UInt8(97 + letters.next() % 26))) })
        }
    }

    static func life(_ room: Int) -> Incarnation { Incarnation(UInt64(room + 1) << 24 | UInt64(room)) }

    mutating func row(_ number: Int, at time: Timestamp) -> HistoryRow {
        let room = Int(next() % UInt64(rooms))
        seqs[room] += 1
        let user = UserID("user-\(next() % 1_000)")
        let message = Message(
            room: RoomID("room-\(room)"), place: .kept(seq: seqs[room]), messageID: "\(room)-\(seqs[room])", time: time,
            from: user.map { Sender(user: $0, profile: profile, role: .guest) }, body: .text(text(number)))
        return HistoryRow(
            incarnation: Self.life(room), seq: seqs[room], index: UInt64(number + 1), time: time, type: 0,
            sender: user?.text, command: CommandKey(high: UInt64(number), low: 1), payload: HistoryCodec.encode(message)
        )
    }

    private mutating func text(_ number: Int) -> String {
        var parts: [String] = []
        if next() % 5 == 0 { parts.append("hello") }
        if number % 100_000 == 4_711 { parts.append("needle") }
        if next() % 2 == 0 {
            for _ in 0..<(4 + next() % 8) { parts.append(words[rank(words.count)]) }
        } else {
            var run = String.UnicodeScalarView()
            for _ in 0..<(6 + next() % 14) {
                if let scalar = Unicode.Scalar(UInt32(0x4E00 + rank(3_000))) { run.append(scalar) }
            }
            parts.append(String(run))
        }
        return parts.joined(separator: " ")
    }

    /// Small ones more often: about as 1/n.
    private mutating func rank(_ count: Int) -> Int {
        var bound = UInt64(count)
        bound = max(1, next() % bound)
        return Int(next() % bound)
    }

    private mutating func next() -> UInt64 {
        var random = Xorshift(state: state)
        defer { state = random.state }
        return random.next()
    }
}

/// G. Marsaglia, "Xorshift RNGs", 2003.
struct Xorshift {
    var state: UInt64

    mutating func next() -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }
}
