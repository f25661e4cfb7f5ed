import Glibc

/// The target of this process: FUZZ_TARGET names it.
private let chosen: FuzzTarget = {
    let name = getenv("FUZZ_TARGET").map { String(cString: $0) } ?? ""
    guard let target = FuzzTarget.all.first(where: { $0.name == name }) else {
        fail("FUZZ_TARGET must be one of \(FuzzTarget.all.map(\.name).joined(separator: " "))")
    }
    return target
}()

/// FUZZ_LIST: tells the targets and their bounds. FUZZ_SEEDS: writes the target's first inputs into that directory.
@_cdecl("LLVMFuzzerInitialize") public func initialize(
    _ count: UnsafeMutableRawPointer?, _ arguments: UnsafeMutableRawPointer?
) -> CInt {
    if getenv("FUZZ_LIST") != nil {
        for target in FuzzTarget.all { print(target.name, target.bytesMax) }
        exit(0)
    }
    guard let directory = getenv("FUZZ_SEEDS").map({ String(cString: $0) }) else { return 0 }
    var samples = Samples(seed: 1)
    for (number, seed) in chosen.seeds(&samples).enumerated() {
        guard let file = fopen("\(directory)/seed-\(number)", "w") else { fail("\(directory) can't be written") }
        fwrite(seed, 1, seed.count, file)
        fclose(file)
    }
    exit(0)
}

@_cdecl("LLVMFuzzerTestOneInput") public func test(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = UnsafeRawBufferPointer(start: start, count: min(count, chosen.bytesMax))
    Work.check(bytes, chosen.run)
    return 0
}
