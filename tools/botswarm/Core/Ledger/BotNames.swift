import ChatModel

/// The names and texts of bots, so that every message tells its sender and its number.
///
/// A text is `<user>-<n>`, blank, padding; the user is `bot-<run>-<number>`. The run's tag keeps two swarms, and two
/// runs in one room, apart.
package struct BotNames: Sendable {
    /// 1 to 16 lower-case letters and digits.
    package let run: String

    /// Returns nil for a tag that breaks the rule.
    package init?(run: String) {
        guard (1...16).contains(run.utf8.count),
            run.utf8.allSatisfy({
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                    || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
            })
        else { return nil }
        self.run = run
    }

    package func user(of bot: BotID) -> UserID {
        guard let user = UserID("bot-\(run)-\(bot.number)") else {
            preconditionFailure("a short tag and a number make a user ID")
        }
        return user
    }

    /// The shortest text that can be accounted for; also the `clientId`.
    package func stem(of bot: BotID, _ n: Int) -> String { "bot-\(run)-\(bot.number)-\(n)" }

    /// The text of `bot`'s n-th message: `bytes` long, or longer if the stem is.
    package func text(of bot: BotID, _ n: Int, bytes: Int) -> String {
        let stem = stem(of: bot, n)
        let padding = bytes - stem.utf8.count - 1
        guard padding > 0 else { return stem }
        // Other letters for each message, so that a mix-up of two messages shows.
        let letters = (0..<padding).map { UInt8(ascii: "a") + UInt8(($0 &+ n) % 26) }
        return stem + " " + String(decoding: letters, as: UTF8.self)
    }

    /// The sender that a text claims; nil when it is not of this run, or `sender` is somebody else.
    package func claim(in text: String, sender: UserID?) -> Claim? {
        let stem = text.prefix { $0 != " " }
        let parts = stem.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "bot", parts[1] == run, let number = Int(parts[2]), let n = Int(parts[3]),
            number >= 0, n >= 1, sender == user(of: BotID(number)), stem == self.stem(of: BotID(number), n)
        else { return nil }
        return Claim(bot: BotID(number), n: n)
    }
}

/// The origin that a text claims.
package struct Claim: Hashable, Sendable {
    package let bot: BotID
    /// The bot's n-th message, from 1.
    package let n: Int

    package init(bot: BotID, n: Int) {
        self.bot = bot
        self.n = n
    }
}
