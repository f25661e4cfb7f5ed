import FoundationEssentials
import SystemCalls
import Wire

/// Reads settings from the environment (`CHATROOM_…`) over the configuration file over defaults.
///
/// A value of the wrong type and a key that nobody knows are errors: a typing mistake must not start a node with a
/// default that its operator does not expect.
struct SettingsReader {
    private let environment: [String: String]
    /// By key, as in `client.port`.
    private let file: [String: Setting]
    private var known: Set<String> = []
    /// The values that were found for the keys that were asked for, as text: two are compared, and shown to nobody.
    private(set) var given: [String: String] = [:]

    /// - Parameter variables: the environment of the process.
    init(path: String, environment variables: [String: String]) throws(NodeError) {
        environment = variables
        guard let data = FileManager.default.contents(atPath: path) else {
            throw NodeError(.configuration, "the configuration file \(path) can't be read")
        }
        if let fault = JSONText.fault(in: Array(data)) {
            throw NodeError(.configuration, "the configuration file \(path) is \(fault)")
        }
        guard case .object(let object)? = try? JSONDecoder().decode(Setting.self, from: data) else {
            throw NodeError(.configuration, "\(path) must hold one JSON object")
        }
        file = Self.flatten(object, prefix: "")
    }

    mutating func int(_ key: String, default value: Int, in range: ClosedRange<Int>) throws(NodeError) -> Int {
        guard let found = lookUp(key, { Int($0).map(Setting.whole) }) else { return value }
        guard case .whole(let number) = found, range.contains(number) else {
            throw NodeError(
                .configuration, "\(name(key)) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func string(_ key: String) throws(NodeError) -> String? {
        guard let found = lookUp(key, Setting.text) else { return nil }
        guard case .text(let text) = found else { throw NodeError(.configuration, "\(name(key)) must be text") }
        return text
    }

    mutating func required(_ key: String) throws(NodeError) -> String {
        guard let text = try string(key), !text.isEmpty else {
            throw NodeError(.configuration, "\(key) is missing in the configuration")
        }
        return text
    }

    mutating func bool(_ key: String, default value: Bool) throws(NodeError) -> Bool {
        guard let found = lookUp(key, Self.flag) else { return value }
        guard case .flag(let flag) = found else {
            throw NodeError(.configuration, "\(name(key)) must be true or false")
        }
        return flag
    }

    mutating func strings(_ key: String) throws(NodeError) -> [String] {
        guard let found = lookUp(key, Self.list) else { return [] }
        guard let list = found.texts else { throw NodeError(.configuration, "\(name(key)) must be a list of texts") }
        return list
    }

    /// Throws when the file has a key that no call above has asked for.
    func refuseUnknownKeys() throws(NodeError) {
        let unknown = file.filter { key, value in
            // An object without settings means nothing, but its name has to.
            if case .object = value { return !known.contains { $0.hasPrefix(key + ".") } }
            return !known.contains(key)
        }
        if let unknown = unknown.keys.sorted().first {
            throw NodeError(.configuration, "unknown setting \(unknown) in the configuration file")
        }
    }

    /// - Parameter read: the value of a variable's text, `nil` when it is of another type.
    private mutating func lookUp(_ key: String, _ read: (String) -> Setting?) -> Setting? {
        known.insert(key)
        let found: Setting?
        if let variable = environment[Self.variable(key)] {
            found = read(variable) ?? .other
        } else if case .object? = file[key] {
            found = nil
        } else {
            found = file[key]
        }
        given[key] = found.map { "\($0)" }
        return found
    }

    /// The name under which its value was given.
    private func name(_ key: String) -> String {
        let variable = Self.variable(key)
        return environment[variable] == nil ? key : variable
    }

    /// The environment's name of a setting: `CHATROOM_LOG_SYNC_DELAY_MICROSECONDS` for `log.syncDelayMicroseconds`.
    static func variable(_ key: String) -> String {
        var name = "CHATROOM_"
        var before: Character = "."
        for character in key {
            if before.isLowercase, character.isUppercase { name += "_" }
            name += character == "." ? "_" : character.uppercased()
            before = character
        }
        return name
    }

    private static func flag(_ text: String) -> Setting? {
        switch text.lowercased() {
        case "true", "yes", "1": .flag(true)
        case "false", "no", "0": .flag(false)
        default: nil
        }
    }

    /// Its texts stand between commas.
    private static func list(_ text: String) -> Setting? {
        .list(text.split(separator: ",", omittingEmptySubsequences: false).map { .text(String($0).trimmed) })
    }

    private static func flatten(_ object: [String: Setting], prefix: String) -> [String: Setting] {
        object.reduce(into: [:]) { flat, entry in
            if case .object(let inner) = entry.value, !inner.isEmpty {
                flat.merge(flatten(inner, prefix: prefix + entry.key + ".")) { _, new in new }
            } else {
                flat[prefix + entry.key] = entry.value
            }
        }
    }
}

/// A value of the configuration file.
private enum Setting: Decodable {
    case object([String: Setting])
    case list([Setting])
    case text(String)
    case whole(Int)
    case flag(Bool)
    /// No setting has this type: a fraction, `null`.
    case other

    init(from decoder: any Decoder) throws {
        if let object = try? [String: Setting](from: decoder) {
            self = .object(object)
        } else if let list = try? [Setting](from: decoder) {
            self = .list(list)
        } else {
            let value = try decoder.singleValueContainer()
            if let flag = try? value.decode(Bool.self) {
                self = .flag(flag)
            } else if let whole = try? value.decode(Int.self) {
                self = .whole(whole)
            } else if let text = try? value.decode(String.self) {
                self = .text(text)
            } else {
                self = .other
            }
        }
    }

    /// `nil` unless it is a list of nothing but texts.
    var texts: [String]? {
        guard case .list(let list) = self else { return nil }
        let texts = list.compactMap { if case .text(let text) = $0 { text } else { nil } }
        return texts.count == list.count ? texts : nil
    }
}
