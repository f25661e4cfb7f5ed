import FoundationEssentials
import Media

/// The place of the bytes of content (CONFIGURATION.md, `media.store`). The same on all nodes.
public enum MediaStoreSettings: Sendable, Hashable {
    /// On the data nodes.
    case local
    case s3(S3Settings)

    /// Reads `media.store` and, for `s3`, all that begins with `media.s3`.
    static func read(_ settings: inout SettingsReader) throws(NodeError) -> MediaStoreSettings {
        let name = try settings.string("media.store") ?? "local"
        let s3 = try S3Settings.read(&settings, isUsed: name == "s3")
        switch (name, s3) {
        case ("local", _): return .local
        case ("s3", let s3?): return .s3(s3)
        default: throw NodeError(.configuration, "media.store must be local or s3")
        }
    }

    /// nil for a store that is not elsewhere. Reads the secret.
    func signer() throws(NodeError) -> S3Signer? {
        guard case .s3(let settings) = self else { return nil }
        return try settings.signer()
    }

    /// The origin to which pages send; nil: their own.
    var origin: String? {
        guard case .s3(let settings) = self else { return nil }
        return settings.bucket.origin
    }
}

/// A bucket, and the key to it.
public struct S3Settings: Sendable, Hashable {
    public var bucket: S3Bucket
    public var region: String
    public var accessKey: String
    /// Readable by its owner only.
    public var secretKeyFile: String
    /// PEM of the certificates that are trusted instead of the system's roots.
    public var trustFile: String?

    static func read(_ settings: inout SettingsReader, isUsed: Bool) throws(NodeError) -> S3Settings? {
        let endpoint = try settings.string("media.s3.endpoint")
        let name = try settings.string("media.s3.bucket")
        let region = try settings.string("media.s3.region") ?? "us-east-1"
        let accessKey = try settings.string("media.s3.accessKey")
        let secretKeyFile = try settings.string("media.s3.secretKeyFile")
        let trustFile = try settings.string("media.s3.caFile")
        let style = try settings.string("media.s3.style") ?? S3Bucket.Style.path.rawValue
        let prefix = try settings.string("media.s3.prefix") ?? ""
        guard isUsed else { return nil }
        guard let endpoint, let name, let accessKey, let secretKeyFile else {
            throw NodeError(
                .configuration,
                "media.s3.endpoint, media.s3.bucket, media.s3.accessKey and media.s3.secretKeyFile belong to "
                    + "media.store s3")
        }
        guard let style = S3Bucket.Style(rawValue: style) else {
            throw NodeError(.configuration, "media.s3.style must be path or virtualHost")
        }
        guard let bucket = S3Bucket(endpoint: endpoint, name: name, style: style, prefix: prefix) else {
            throw NodeError(
                .configuration,
                "media.s3.endpoint must be https://host[:port], media.s3.bucket a bucket's name, and media.s3.prefix empty or "
                    + "of letters, digits, -, _ and slashes with one at its end")
        }
        guard bucket.isSecure || NodeConfiguration.isLoopback(host(of: bucket.endpoint)) else {
            throw NodeError(
                .configuration,
                "media.s3.endpoint must begin with https://, because content and its URLs are for nobody else")
        }
        for (key, text) in [("media.s3.region", region), ("media.s3.accessKey", accessKey)] {
            guard (1...128).contains(text.utf8.count), text.utf8.allSatisfy({ 0x21...0x7E ~= $0 && $0 != 0x2F }) else {
                throw NodeError(.configuration, "\(key) must be 1 to 128 letters without a space or a slash")
            }
        }
        return S3Settings(
            bucket: bucket, region: region, accessKey: accessKey, secretKeyFile: secretKeyFile, trustFile: trustFile)
    }

    private static func host(of endpoint: String) -> String {
        let isBracketed = endpoint.hasPrefix("[")
        let host = isBracketed ? endpoint.dropFirst().prefix { $0 != "]" } : endpoint.prefix { $0 != ":" }
        return String(host)
    }

    /// The secret is in a file of its own: settings are shown and copied.
    func signer() throws(NodeError) -> S3Signer {
        try TLSFiles.requirePrivate(secretKeyFile, "the secret key of the media store")
        guard let data = FileManager.default.contents(atPath: secretKeyFile), data.count <= 1_024 else {
            throw NodeError(.configuration, "the secret key of the media store \(secretKeyFile) can't be read")
        }
        let secret = String(decoding: data.filter { $0 > 0x20 }, as: UTF8.self)
        guard !secret.isEmpty else {
            throw NodeError(.configuration, "the secret key of the media store \(secretKeyFile) is empty")
        }
        return S3Signer(accessKey: accessKey, secretKey: secret, region: region)
    }
}
