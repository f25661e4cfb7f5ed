import ControlClient

/// Members for people.
enum MemberText {
    static func table(_ members: [JSONTree]) -> [String] {
        var table = Table(["USER", "NICK", "ROLE", "ONLINE", "FLAGS", "ENTERED"])
        for member in members {
            table.add([
                member["user"]?.shown ?? "", member["nick"]?.shown ?? "", member["role"]?.shown ?? "",
                member["online"]?.shown ?? "", flags(member), member["enteredAt"]?.integer.map(TimeText.full) ?? "",
            ])
        }
        return table.lines()
    }

    static func facts(_ member: JSONTree) -> [String] {
        Table.facts([
            ("user", member["user"]?.shown ?? ""), ("nick", member["nick"]?.shown ?? ""),
            ("avatar", member["avatar"]?.shown ?? ""), ("ext", member["ext"]?.shown ?? ""),
            ("role", member["role"]?.shown ?? ""), ("online", member["online"]?.shown ?? ""),
            ("flags", flags(member)), ("entered", member["enteredAt"]?.integer.map(TimeText.full) ?? ""),
        ])
    }

    private static func flags(_ member: JSONTree) -> String {
        var flags: [String] = []
        if member["muted"]?.boolean == true { flags.append("muted") }
        if member["tempMuted"]?.boolean == true {
            flags.append("muted for \(member["tempMuteSeconds"]?.integer ?? 0) s")
        }
        if member["blacklisted"]?.boolean == true { flags.append("blacklisted") }
        if let end = member["banEndsAt"]?.integer { flags.append("banned until \(TimeText.full(end))") }
        return flags.joined(separator: ", ")
    }
}
