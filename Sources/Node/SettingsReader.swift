import Configuration
import Foundation
import SystemPackage

/// Reads settings from the environment (`CHATROOM_…`) over the configuration file over defaults.
///
/// A value of the wrong type and a key that nobody knows are errors: a typing mistake must not start a node with a
/// default that its operator does not expect.
struct SettingsReader {
    private let environment: KeyMappingProvider<EnvironmentVariablesProvider>
    private let file: FileProvider<JSONSnapshot>
    private let fileKeys: Set<String>
    private var known: Set<String> = []

    init(path: String, environment variables: [String: String]) async throws(NodeError) {
        environment = EnvironmentVariablesProvider(environmentVariables: variables).prefixKeys(with: "chatroom")
        do {
            file = try await FileProvider<JSONSnapshot>(filePath: FilePath(path))
            let object = try JSONSerialization.jsonObject(with: Data(contentsOf: URL(fileURLWithPath: path)))
            guard let object = object as? [String: Any] else {
                throw NodeError(.configuration, "\(path) must hold one JSON object")
            }
            fileKeys = Self.flatten(object, prefix: "")
        } catch let error as NodeError {
            throw error
        } catch {
            throw NodeError(.configuration, "the configuration file \(path) can't be read: \(error)")
        }
    }

    mutating func int(_ key: String, default value: Int, in range: ClosedRange<Int>) throws(NodeError) -> Int {
        guard let found = try lookUp(key, .int) else { return value }
        guard case .int(let number) = found, range.contains(number) else {
            throw NodeError(
                .configuration, "\(key) must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    mutating func string(_ key: String) throws(NodeError) -> String? {
        guard let found = try lookUp(key, .string) else { return nil }
        guard case .string(let text) = found else { throw NodeError(.configuration, "\(key) must be text") }
        return text
    }

    mutating func required(_ key: String) throws(NodeError) -> String {
        guard let text = try string(key), !text.isEmpty else {
            throw NodeError(.configuration, "\(key) is missing in the configuration")
        }
        return text
    }

    mutating func bool(_ key: String, default value: Bool) throws(NodeError) -> Bool {
        guard let found = try lookUp(key, .bool) else { return value }
        guard case .bool(let flag) = found else { throw NodeError(.configuration, "\(key) must be true or false") }
        return flag
    }

    mutating func strings(_ key: String) throws(NodeError) -> [String] {
        guard let found = try lookUp(key, .stringArray) else { return [] }
        guard case .stringArray(let list) = found else {
            throw NodeError(.configuration, "\(key) must be a list of texts")
        }
        return list
    }

    /// Throws when the file has a key that no call above has asked for.
    func refuseUnknownKeys() throws(NodeError) {
        if let unknown = fileKeys.subtracting(known).sorted().first {
            throw NodeError(.configuration, "unknown setting \(unknown) in the configuration file")
        }
    }

    private mutating func lookUp(_ key: String, _ type: ConfigType) throws(NodeError) -> ConfigContent? {
        known.insert(key)
        let absolute = AbsoluteConfigKey(ConfigKey(key))
        do {
            return try environment.value(forKey: absolute, type: type).value?.content
                ?? file.value(forKey: absolute, type: type).value?.content
        } catch {
            throw NodeError(.configuration, "the setting \(key) has a value of the wrong type")
        }
    }

    private static func flatten(_ object: [String: Any], prefix: String) -> Set<String> {
        var keys: Set<String> = []
        for (key, value) in object {
            if let inner = value as? [String: Any] {
                keys.formUnion(flatten(inner, prefix: prefix + key + "."))
            } else {
                keys.insert(prefix + key)
            }
        }
        return keys
    }
}
