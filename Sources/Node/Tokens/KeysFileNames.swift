/// The names in a keys file. A name with a typing mistake would leave a key more than it is to have: one without a `role`, for
/// example, may do everything.
struct KeysFileNames: Decodable {
    private struct Record: Decodable {
        var names: [String]

        init(from decoder: any Decoder) throws {
            names = try decoder.container(keyedBy: AnyName.self).allKeys.map(\.stringValue).sorted()
        }
    }

    private struct AnyName: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    /// The names that a record of each list may have.
    private static let known: [String: Set<String>] = [
        "admin": ["id", "secret", "role", "roomPrefix"],
        "token": [
            "kid", "algorithm", "algorithms", "use", "secret", "publicKey", "jwksUrl", "iss", "aud", "role",
            "roomPrefix",
        ],
        "cluster": ["secret"],
    ]

    /// The place of the first name that means nothing, such as `admin[0].rol`; nil: there is none.
    let unknown: String?

    init(from decoder: any Decoder) throws {
        let file = try decoder.container(keyedBy: AnyName.self)
        var unknown: String?
        for list in file.allKeys.sorted(by: { $0.stringValue < $1.stringValue }) {
            guard let names = Self.known[list.stringValue] else {
                unknown = unknown ?? Self.shown(list.stringValue) ?? "a field"
                continue
            }
            for (index, record) in try (file.decodeIfPresent([Record].self, forKey: list) ?? []).enumerated() {
                guard let name = record.names.first(where: { !names.contains($0) }) else { continue }
                let place = "\(list.stringValue)[\(index)]"
                unknown = unknown ?? Self.shown(name).map { "\(place).\($0)" } ?? "a field in \(place)"
            }
        }
        self.unknown = unknown
    }

    /// The name, if it looks like one: a secret may stand in its place.
    private static func shown(_ name: String) -> String? {
        let isName = name.utf8.count <= 20 && name.utf8.allSatisfy { $0 == 0x5F || 0x41...0x5A ~= $0 & ~0x20 }
        return isName ? name : nil
    }

    /// A keys file's fault as the rest of a sentence, without anything of its content.
    static func fault(in error: any Error) -> String {
        func place(_ path: [any CodingKey]) -> String {
            path.reduce("") { place, key in
                key.intValue.map { "\(place)[\($0)]" }
                    ?? (place.isEmpty ? key.stringValue : "\(place).\(key.stringValue)")
            }
        }
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            return "lacks \(place(context.codingPath + [key]))"
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            return "has a value of the wrong type\(context.codingPath.isEmpty ? "" : ": \(place(context.codingPath))")"
        case DecodingError.dataCorrupted(let context) where !context.codingPath.isEmpty:
            return "has something that can't be taken: \(place(context.codingPath))"
        default: return "isn't JSON"
        }
    }
}
