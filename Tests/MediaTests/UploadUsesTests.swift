import ChatModel
import Foundation
import Testing

@testable import Media

/// How much users have sent in a day.
@Suite(.timeLimit(.minutes(2))) struct UploadUsesTests {
    private static func node(_ name: String) -> NodeID { NodeID(name).unsafelyUnwrapped }
    private static func user(_ name: String) -> UserID { UserID(name).unsafelyUnwrapped }
    private static let now = Timestamp(20_000 * Timestamp.millisecondsPerDay + 5)

    private static func uses(_ name: String, usersMax: Int = UploadUses.usersMax) -> UploadUses {
        UploadUses(node: node(name), day: now.day, usersMax: usersMax)
    }

    /// Whether the bytes were refused, and why.
    private static func take(_ bytes: Int64, of name: String = "ann", _ uses: inout UploadUses) -> ErrorCode? {
        do {
            try uses.take(bytes, of: user(name), bytesPerDay: 100, at: now)
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `a user has so much a day, over all nodes that tell each other`() {
        var (a, b) = (Self.uses("a"), Self.uses("b"))
        #expect(Self.take(60, &a) == nil && Self.take(41, &a) == .tooOften && Self.take(-1, &a) == .tooOften)
        let isNews = b.merge(a.counts(of: Self.user("ann")), of: Self.user("ann"), on: b.day)
        #expect(isNews)
        #expect(Self.take(41, &b) == .tooOften && Self.take(30, &b) == nil && b.total(of: Self.user("ann")) == 90)
        // a was away meanwhile, and hears of it when it is back.
        a.merge(b.counts(of: Self.user("ann")), of: Self.user("ann"), on: a.day)
        #expect(Self.take(11, &a) == .tooOften && Self.take(10, &a) == nil)
        #expect(Self.take(100, of: "bob", &a) == nil && Self.take(0, of: "bob", &a) == nil)
        #expect(Self.take(1, of: "bob", &a) == .tooOften)
    }

    @Test func `however often and in whatever order it is told, the sum is that of what was taken`() {
        for seed in UInt64(1)...20 {
            var random = SystemRandomNumberGenerator()
            var all = [Self.uses("a"), Self.uses("b"), Self.uses("c")]
            var said: [[NodeID: Int64]] = []
            var taken: Int64 = 0
            for _ in 0..<200 {
                let place = Int.random(in: 0..<3, using: &random)
                if Self.take(1, &all[place]) == nil { taken += 1 }
                said.append(all[place].counts(of: Self.user("ann")))
                if let old = said.randomElement(using: &random) {
                    all[Int.random(in: 0..<3, using: &random)].merge(old, of: Self.user("ann"), on: Self.now.day)
                }
            }
            for counts in said.shuffled(using: &random) {
                for place in 0..<3 { all[place].merge(counts, of: Self.user("ann"), on: Self.now.day) }
            }
            #expect(all.map { $0.total(of: Self.user("ann")) } == [taken, taken, taken], "round \(seed)")
            #expect(taken >= 100)
        }
    }

    @Test func `another day begins with nothing, and what is said of the day before is not heard`() {
        var uses = Self.uses("a")
        #expect(Self.take(100, &uses) == nil)
        let begun = [Self.now.day - 1, Self.now.day].map { uses.begin($0) }
        #expect(begun == [false, false] && uses.total(of: Self.user("ann")) == 100)
        let isAnother = uses.begin(Self.now.day + 1)
        #expect(isAnother && uses.count == 0)
        let isNews = uses.merge([Self.node("b"): 5], of: Self.user("ann"), on: Self.now.day)
        #expect(!isNews)
        #expect(uses.total(of: Self.user("ann")) == 0)
    }

    @Test func `a clock that was far ahead does not take the days from those who send`() {
        var uses = Self.uses("a")
        uses.begin(Self.now.day + 30)
        #expect(Self.take(100, &uses) == nil)
        let isBegun = uses.begin(Self.now.day)
        #expect(isBegun && uses.day == Self.now.day)
        #expect(Self.take(100, &uses) == nil && Self.take(1, &uses) == .tooOften)
    }

    @Test func `users and nodes are bounded, and sums do not overflow`() {
        var uses = Self.uses("a", usersMax: 3)
        for name in ["x", "y", "z"] { #expect(Self.take(1, of: name, &uses) == nil) }
        #expect(Self.take(1, of: "more", &uses) == .unavailable && Self.take(1, of: "x", &uses) == nil)
        let isNews = uses.merge([Self.node("b"): 5], of: Self.user("more"), on: uses.day)
        #expect(!isNews)
        var many: [NodeID: Int64] = [:]
        for number in 0..<300 { many[Self.node("n\(number)")] = .max }
        let hasMany = uses.merge(many, of: Self.user("x"), on: uses.day)
        #expect(hasMany)
        #expect(uses.counts(of: Self.user("x")).count == UploadUses.nodesMax + 1)
        #expect(uses.total(of: Self.user("x")) == .max && Self.take(1, of: "x", &uses) == .tooOften)
    }

    // MARK: - The file

    /// A file in a place of its own, and what is written there.
    private final class Written: Sendable {
        let path = FileManager.default.temporaryDirectory.path + "/uploads-\(UUID().uuidString)"

        var text: String {
            FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) } ?? ""
        }

        func put(_ text: String) { _ = FileManager.default.createFile(atPath: path, contents: Data(text.utf8)) }

        func read(day: Int64 = UploadUsesTests.now.day) -> UploadUses {
            var uses = UploadUses(node: UploadUsesTests.node("a"), day: day)
            let start = uses
            let file = UploadUseFile(path: path, uses: { start })
            defer { file.close() }
            file.read(into: &uses)
            return uses
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }
    }

    @Test func `a node that is started again knows what it knew, and another day's file says nothing`() {
        let written = Written()
        let start = written.read()
        #expect(start.count == 0, "there is no file")
        var uses = Self.uses("a")
        for round in 0..<3 {
            #expect(Self.take(10, of: "u\(round)", &uses) == nil && Self.take(20, of: "u0", &uses) == nil)
            uses.merge([Self.node("b"): 7], of: Self.user("u1"), on: uses.day)
            let known = uses
            let file = UploadUseFile(path: written.path, uses: { known })
            for (user, counts) in uses.all { file.note(counts, of: user, on: uses.day) }
            file.close()
            let again = written.read()
            #expect(again.count == uses.count)
            for (user, counts) in uses.all { #expect(again.counts(of: user) == counts) }
        }
        #expect(written.read(day: Self.now.day + 1).count == 0)
    }

    @Test func `lines that were broken off, and what is no line, are passed over`() {
        let written = Written()
        let heading = "chatroom uploads 1 \(Self.now.day)\n"
        let whole = "5 a ann\n6 b ann\n4 a ann\n"
        for rest in ["9", "9 a", "9 a bob", "\n", "x y z\n", "-1 a bob\n", "9 a bob more\n", "9 a \n", "\0\0\0\n"] {
            written.put(heading + whole + rest)
            let uses = written.read()
            #expect(uses.count == 1 && uses.total(of: Self.user("ann")) == 11, "\(rest)")
        }
        for text in ["", "x", "\n", "chatroom uploads 2 \(Self.now.day)\n" + whole, whole] {
            written.put(text)
            #expect(written.read().count == 0, "\(text)")
        }
        written.put(heading + String(repeating: "x", count: 5_000_000) + "\n" + whole)
        #expect(written.read().count == 0, "no line is so long")
        // The next line does not begin with the broken one.
        written.put(heading + whole + "77 a a")
        var uses = written.read()
        #expect(Self.take(10, of: "bob", &uses) == nil)
        let known = uses
        let file = UploadUseFile(path: written.path, uses: { known })
        file.note(uses.counts(of: Self.user("bob")), of: Self.user("bob"), on: uses.day)
        file.close()
        #expect(written.read().total(of: Self.user("bob")) == 10 && written.read().total(of: Self.user("ann")) == 11)
    }

    @Test func `the file does not grow with what it says again`() async throws {
        let written = Written()
        var uses = Self.uses("a")
        #expect(Self.take(1, &uses) == nil)
        let known = uses
        let file = UploadUseFile(path: written.path, uses: { known })
        for _ in 0..<10_000 { file.note(known.counts(of: Self.user("ann")), of: Self.user("ann"), on: known.day) }
        file.close()
        #expect(written.text.split(separator: "\n").count < 3_000 && written.read().total(of: Self.user("ann")) == 1)
    }

    @Test func `a place where nothing can be written harms nobody`() {
        let uses = Self.uses("a")
        let file = UploadUseFile(path: "/nowhere/at/all", uses: { uses })
        for _ in 0..<3 { file.note([Self.node("a"): 1], of: Self.user("ann"), on: uses.day) }
        file.close()
    }
}
