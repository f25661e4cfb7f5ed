/// The acts of a crowd.
struct CrowdScript {
    enum Act: Hashable {
        case message(String)
        case barrage(String)
        /// Takes a free seat of that number, or does nothing.
        case sit(Int)
        case standUp(Int)
    }

    private var random = SystemRandomNumberGenerator()
    /// The members on seats, as far as the crowd itself knows.
    private var seats: [Int: Int] = [:]
    /// The share of barrage among a hundred acts.
    private let barragePercent: Int

    /// - Parameters:
    ///   - messages: kept ones a second, of all.
    ///   - barrage: likewise.
    init(messages: Double, barrage: Double) {
        barragePercent = Int(100 * barrage / max(messages + barrage, 0.001))
    }

    /// The next act of one of `speakers`.
    mutating func next(speakers: Int) -> (speaker: Int, act: Act) {
        let speaker = number(below: max(1, speakers))
        // Few sit: a seat every some seconds.
        if number(below: 200) == 0 {
            if let seat = seats.first(where: { $0.value == speaker })?.key {
                seats[seat] = nil
                return (speaker, .standUp(seat))
            }
            let seat = 1 + number(below: Self.seatCount)
            if let sitter = seats[seat] {
                seats[seat] = nil
                return (sitter, .standUp(seat))
            }
            seats[seat] = speaker
            return (speaker, .sit(seat))
        }
        if number(below: 100) < barragePercent { return (speaker, .barrage(one(of: Self.shouts))) }
        return (speaker, .message(one(of: Self.openings) + one(of: Self.endings)))
    }

    static func nick(of number: Int) -> String {
        let name = names[number % names.count]
        return number < names.count ? name : "\(name) \(number / names.count + 1)"
    }

    private mutating func number(below bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

    private mutating func one(of list: [String]) -> String { list[number(below: list.count)] }

    private static let seatCount = 6
    private static let names = [
        "Ann", "Bo", "Chen", "Dara", "Elif", "Finn", "Gita", "Hugo", "Ines", "Jun", "Kaya", "Liu Yang", "Mei", "Nils",
        "Olu", "Pia", "Qing", "Rosa", "Sami", "Tao", "Uma", "Vera", "Wei", "Xin", "Yuki", "Zoe", "小雨", "阿明", "晚风",
        "橘子", "南山", "星河",
    ]
    private static let openings = [
        "that chorus", "the light on stage", "this room tonight", "the drummer", "the last song", "我们这边",
        "the sound here",
        "the new intro", "主唱", "everybody from the east side",
    ]
    private static let endings = [
        " is unreal", " again please", " made my week", " sounds so clean", " 太好听了", " came out of nowhere", " 绝了",
        " deserves a bigger hall", " is all I needed", " 一起唱", ", wow", " is the reason I came",
    ]
    private static let shouts = [
        "encore", "好听", "wow", "❤️", "louder", "前排", "hello from Lagos", "你好", "bravo", "666", "👏👏👏", "that solo",
        "first time here", "来了来了", "so good", "hands up", "🔥", "再来一首", "from Lisbon with love", "goosebumps",
    ]
}
