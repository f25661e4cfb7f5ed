/// A first-in-first-out queue with amortised O(1) operations; memory follows the number of elements, and what an element
/// holds is let go of when it is removed.
public struct Fifo<Element: Sendable>: Sendable {
    /// nil: removed.
    private var elements: [Element?] = []
    private var head = 0

    public init(_ elements: [Element] = []) { self.elements = elements }

    public var count: Int { elements.count - head }
    public var first: Element? { head < elements.count ? elements[head] : nil }

    public mutating func append(_ element: Element) { elements.append(element) }

    public mutating func removeFirst() {
        guard head < elements.count else { return }
        elements[head] = nil
        head += 1
        // At least half is dead: moving the rest is paid for by what was removed.
        if head * 2 >= elements.count && (head >= 64 || head == elements.count) {
            elements.removeSubrange(..<head)
            head = 0
        }
    }
}
