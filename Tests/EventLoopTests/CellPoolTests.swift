import Testing

@testable import EventLoop

struct CellPoolTests {
    @Test func `cells lie side by side, and none is given twice`() {
        let pool = CellPool()
        let cells = (0..<1_500).map { _ in pool.take() }
        #expect(Set(cells).count == cells.count)
        let pages = Set(cells.map { UInt(bitPattern: $0) / 4096 })
        #expect(pages.count == 3, "512 of 8 bytes in a page")
        #expect(cells[1] == cells[0] + CellPool.cellBytes)
    }

    @Test func `what was given back is used again`() {
        let pool = CellPool()
        let first = pool.take()
        pool.giveBack(first)
        #expect(pool.take() == first)
    }
}
