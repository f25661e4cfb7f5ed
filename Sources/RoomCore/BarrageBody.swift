import ChatModel

/// The part of a barrage item that its viewers are shown besides its sender: items with an equal one are shown as one.
struct BarrageBody: Hashable {
    private let text: ExactText
    private let ext: ExactText?
    private let style: ExactText?

    init(_ item: BarrageItem) { self.init(item.text, item.ext, item.style) }

    init(_ candidate: BarrageCandidate) { self.init(candidate.text, candidate.ext, candidate.style) }

    private init(_ text: String, _ ext: String?, _ style: String?) {
        self.text = ExactText(text)
        self.ext = ext.map { ExactText($0) }
        self.style = style.map { ExactText($0) }
    }
}
