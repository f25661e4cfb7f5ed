import Deflate
import Testing

/// A stream with many readers, each of which is an inflater of zlib.
@Suite struct SharedWindowTests {
    private struct Random: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return (state ^ state >> 29) &* 0xBF58_476D_1CE4_E5B9
        }
    }

    /// A reader of some of the stream.
    private final class Reader {
        private let inflater: Inflater
        var isInStep = false

        init() throws { inflater = try #require(Inflater(keepsContext: true)) }

        func read(_ payload: [UInt8]) -> [UInt8]? {
            payload.withUnsafeBytes { try? inflater.inflate($0, bytesMax: 1 << 20) }
        }
    }

    /// Lines that look like messages: numbers that grow, names that come again, words.
    private func message(_ random: inout Random, lines: Int) -> [UInt8] {
        let words = ["hello", "all", "the", "song", "is", "great", "who", "wins", "🎉", "\\n"]
        let all = (0..<lines).map { _ in
            var text = ""
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                text += " " + (words.randomElement(using: &random) ?? "")
            }
            let (seq, user) = (Int.random(in: 1...99_999, using: &random), Int.random(in: 1...50, using: &random))
            return #"{"message":{"room":"live","seq":\#(seq),"from":{"user":"u\#(user)"},"text":"\#(text)"}}"#
        }
        return Array(all.joined(separator: "\n").utf8)
    }

    private func noise(_ random: inout Random, _ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 11...255, using: &random) }
    }

    private func append(_ message: [UInt8], to window: inout SharedWindow, by pool: DeflaterPool) -> [UInt8]? {
        message.withUnsafeBytes { window.append($0, by: pool) }
    }

    @Test(arguments: 1...12)
    func `whoever has read the primer reads what everybody reads, after losses too`(seed: UInt64) throws {
        var random = Random(state: seed)
        let pool = DeflaterPool(countMax: 2, level: 6)
        let primers = try #require(Deflater(level: 6))
        var window = SharedWindow()
        // Other streams, which take the deflaters away.
        var others = [SharedWindow(), SharedWindow(), SharedWindow()]
        var readers: [Reader] = []
        var sent: [[UInt8]] = []
        for step in 0..<400 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0 where readers.count < 20: readers.append(try Reader())
            case 1: readers.randomElement(using: &random)?.isInStep = false
            case 2:
                let index = Int.random(in: 0..<3, using: &random)
                _ = append(message(&random, lines: 1), to: &others[index], by: pool)
            case 3 where step % 50 == 0: window.removeAll()
            default: break
            }
            let message =
                switch Int.random(in: 0..<20, using: &random) {
                case 0: message(&random, lines: 40)
                case 1: noise(&random, Int.random(in: 1...6000, using: &random))
                case 2: Array("ab".utf8)
                default: message(&random, lines: Int.random(in: 1...3, using: &random))
                }
            let newcomers = readers.filter { !$0.isInStep && Bool.random(using: &random) }
            let primer = try #require(window.primer(by: primers))
            let before = window.byteCount
            guard let payload = append(message, to: &window, by: pool) else {
                #expect(window.byteCount == before, "what is not sent is not in the window")
                continue
            }
            #expect(payload.count < message.count)
            for reader in newcomers {
                let primed = primer.map { reader.read($0) }
                #expect(primed.allSatisfy { $0 != nil })
                // Each message of the primer is the end of one that was sent, at a line.
                let old = sent.suffix(primed.count)
                for (line, message) in zip(primed, old) {
                    let line = try #require(line)
                    #expect(message.suffix(line.count) == line[...])
                    #expect(line.count == message.count || message.dropLast(line.count).last == UInt8(ascii: "\n"))
                }
                reader.isInStep = true
            }
            for reader in readers where reader.isInStep { #expect(reader.read(payload) == message) }
            sent.append(message)
            #expect(window.byteCount < Deflater.windowBytes + SharedWindow.tailBytesMax)
        }
        #expect(readers.count > 5 && sent.count > 200)
    }

    @Test func `who has read something else in between can't read on, and the primer mends it`() throws {
        var random = Random(state: 5)
        let (pool, primers) = (DeflaterPool(countMax: 1, level: 6), try #require(Deflater(level: 6)))
        var window = SharedWindow()
        let reader = try Reader()
        for _ in 0..<40 { _ = append(message(&random, lines: 1), to: &window, by: pool) }
        // It lacks all forty.
        let next = message(&random, lines: 1)
        let primer = try #require(window.primer(by: primers))
        let payload = try #require(append(next, to: &window, by: pool))
        #expect(try Reader().read(payload) != next)
        for part in primer { #expect(reader.read(part) != nil) }
        #expect(reader.read(payload) == next)
    }

    @Test func `a stream that was forgotten refers to nothing before`() throws {
        var random = Random(state: 6)
        let pool = DeflaterPool(countMax: 1, level: 6)
        let primers = try #require(Deflater())
        var window = SharedWindow()
        let secret = Array("a secret that was taken back, a secret that was taken back".utf8)
        #expect(append(secret, to: &window, by: pool) != nil)
        window.removeAll()
        #expect(window.isEmpty && window.byteCount == 0 && window.primer(by: primers) == [])
        let next = message(&random, lines: 2)
        let payload = try #require(append(next, to: &window, by: pool))
        #expect(try Reader().read(payload) == next)
    }

    @Test func `the primer is the last lines that fill the window, and lines that are too long stay out`() throws {
        let pool = DeflaterPool(countMax: 1, level: 6)
        let primers = try #require(Deflater())
        var window = SharedWindow()
        let line = Array(repeating: UInt8(ascii: "x"), count: 1000)
        let message = Array([[UInt8]](repeating: line, count: 20).joined(separator: [UInt8(ascii: "\n")]))
        #expect(append(message, to: &window, by: pool) != nil)
        // Five lines and the feeds between them: four would not fill it.
        #expect(window.byteCount == 5 * 1000 + 4)
        let reader = try Reader()
        let primer = try #require(window.primer(by: primers))
        #expect(primer.map { reader.read($0)?.count } == [5004])
        #expect(append([UInt8](repeating: 7, count: SharedWindow.tailBytesMax), to: &window, by: pool) != nil)
        #expect(append([UInt8](repeating: 7, count: SharedWindow.tailBytesMax + 1), to: &window, by: pool) == nil)
        #expect(window.byteCount == SharedWindow.tailBytesMax)
        // The end of a long message counts, not its length.
        let long = [UInt8](repeating: 8, count: 100_000) + [UInt8(ascii: "\n")] + [UInt8](repeating: 9, count: 4096)
        #expect(append(long, to: &window, by: pool) != nil)
        #expect(window.byteCount == 4096)
    }

    @Test func `short messages become less than a third of themselves`() throws {
        var random = Random(state: 7)
        let pool = DeflaterPool(countMax: 1, level: 6)
        var window = SharedWindow()
        var (plain, compressed) = (0, 0)
        for _ in 0..<500 {
            let message = message(&random, lines: 1)
            plain += message.count
            compressed += append(message, to: &window, by: pool)?.count ?? message.count
        }
        #expect(compressed * 3 < plain, "\(compressed) of \(plain)")
    }
}
