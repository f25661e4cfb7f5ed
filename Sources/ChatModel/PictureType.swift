/// The types of pictures that a browser may show inside a page (PROTOCOL.md, "Media"); avatars have no other.
public enum PictureType: String, Sendable, CaseIterable {
    case png = "image/png"
    case jpeg = "image/jpeg"
    case gif = "image/gif"
    case webp = "image/webp"
    case avif = "image/avif"

    /// nil for what is no such picture. Parameters, capitals and spaces do not matter.
    public init?(contentType: String) { self.init(rawValue: Self.essence(of: contentType)) }

    /// A type without parameters, in lower case.
    public static func essence(of contentType: String) -> String {
        let type = contentType.prefix { $0 != ";" }.lowercased()
        return String(type.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
    }
}
