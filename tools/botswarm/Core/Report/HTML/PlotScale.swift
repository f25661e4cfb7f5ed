/// Where values lie on an axis, with round marks.
struct PlotScale {
    let marks: [Double]
    private let low: Double
    private let high: Double
    private let isLogarithmic: Bool

    /// From 0 to a round number at or above `high`.
    init(upTo high: Double) {
        let step = Self.roundStep(max(high, 1e-9) / 4)
        let count = max(1, Int((max(high, 1e-9) / step).rounded(.up)))
        low = 0
        self.high = Double(count) * step
        marks = (0...count).map { Double($0) * step }
        isLogarithmic = false
    }

    /// Powers of ten around what is above 0.
    init(logarithmicFrom low: Double, to high: Double) {
        var mark = 1.0
        while mark > low, mark > 1e-6 { mark /= 10 }
        while mark * 10 <= low { mark *= 10 }
        self.low = mark
        var marks = [mark]
        repeat {
            mark *= 10
            marks.append(mark)
        } while mark < high
        self.high = mark
        self.marks = marks
        isLogarithmic = true
    }

    /// 0 at the low end, 1 at the high one.
    func place(_ value: Double) -> Double {
        let value = min(max(value, low), high)
        return isLogarithmic
            ? (logarithm(value) - logarithm(low)) / (logarithm(high) - logarithm(low)) : (value - low) / (high - low)
    }

    private func logarithm(_ value: Double) -> Double { Self.logarithm2(value) }

    /// For positive numbers, exact enough for pixels.
    static func logarithm2(_ value: Double) -> Double {
        var fraction = value.significand
        var bits = Double(value.exponent)
        var weight = 0.5
        for _ in 0..<24 {
            fraction *= fraction
            if fraction >= 2 {
                fraction /= 2
                bits += weight
            }
            weight /= 2
        }
        return bits
    }

    /// 1, 2 or 5 times a power of ten, at or above `step`.
    private static func roundStep(_ step: Double) -> Double {
        var unit = 1.0
        while unit > step { unit /= 10 }
        while unit * 10 <= step { unit *= 10 }
        for factor in [1.0, 2, 5] where unit * factor >= step * 0.999 { return unit * factor }
        return unit * 10
    }
}
