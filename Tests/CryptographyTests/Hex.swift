/// The bytes of hexadecimal digits; what stands between them does not count.
func hex(_ text: String) -> [UInt8] {
    let digits = text.compactMap { $0.hexDigitValue.map(UInt8.init) }
    return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }
