import Testing

@testable import Node

/// When memory goes back to the system. Megabytes.
@Suite struct FreedMemoryTests {
    private func look(_ freed: inout FreedMemory, _ resident: Int64, _ allocated: Int64) -> Bool {
        guard freed.isWorthALook(resident: resident << 20) else { return false }
        return freed.look(resident: resident << 20, allocated: allocated << 20)
    }

    @Test func `what a storm has left goes back at the third look, once`() {
        var freed = FreedMemory()
        #expect(!look(&freed, 60, 40), "at rest")
        #expect(!look(&freed, 700, 680), "the storm: all of it is in use")
        #expect(!look(&freed, 700, 40))
        #expect(!look(&freed, 700, 40))
        #expect(look(&freed, 700, 40))
        freed.trimmed(resident: 80 << 20, allocated: 40 << 20)
        for _ in 0..<20 { #expect(!look(&freed, 85, 40), "what can't be given back is not asked for again") }
        #expect(!look(&freed, 400, 40))
        #expect(!look(&freed, 400, 40))
        #expect(look(&freed, 400, 40), "the next storm")
    }

    @Test func `what each turn frees and takes again stays`() {
        var freed = FreedMemory()
        for turn in 0..<100 { #expect(!look(&freed, 700, turn % 3 == 2 ? 690 : 40)) }
    }

    @Test func `a process that holds much gives nothing back`() {
        var freed = FreedMemory()
        for _ in 0..<20 { #expect(!look(&freed, 8_000, 7_960)) }
    }

    @Test func `a trim that freed nothing is not repeated`() {
        var freed = FreedMemory()
        for _ in 0..<2 { #expect(!look(&freed, 700, 100)) }
        #expect(look(&freed, 700, 100))
        freed.trimmed(resident: 700 << 20, allocated: 100 << 20)
        for _ in 0..<10 { #expect(!look(&freed, 700, 100)) }
        #expect(!look(&freed, 700, 640), "needed again: there is less that can't be given back")
        for _ in 0..<2 { #expect(!look(&freed, 700, 100)) }
        #expect(look(&freed, 700, 100))
    }

    @Test func `a process that is at rest is looked at once a minute, and often again when it grows`() {
        var freed = FreedMemory()
        let looks = { (count: Int, resident: Int64, freed: inout FreedMemory) in
            (0..<count).count { _ in
                guard freed.isWorthALook(resident: resident << 20) else { return false }
                _ = freed.look(resident: resident << 20, allocated: (resident - 10) << 20)
                return true
            }
        }
        #expect(looks(12, 700, &freed) == 12)
        #expect(looks(120, 700, &freed) == 10)
        #expect(looks(10, 720, &freed) == 10)
    }

    @Test func `a storm that a process at rest has had within its memory is found within a minute`() {
        var freed = FreedMemory()
        for _ in 0..<50 { #expect(!look(&freed, 700, 680)) }
        #expect((0..<15).contains { _ in look(&freed, 700, 40) })
    }

    @Test func `numbers that the system gets wrong do no harm`() {
        var freed = FreedMemory()
        let isToTrim = freed.look(resident: 0, allocated: .max)
        #expect(!isToTrim)
        freed.trimmed(resident: -1, allocated: -1)
        let isWorthIt = freed.isWorthALook(resident: 1)
        #expect(!isWorthIt)
    }
}
