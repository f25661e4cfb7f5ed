/// Characters that stand together, as they are looked for in one pass over a text (Knuth, Morris and Pratt): a text of one
/// character again and again costs no more than another one.
struct CharacterRun: Sendable, Hashable {
    /// At least one.
    let scalars: [Unicode.Scalar]
    /// For each place: how many characters up to there, fewer than all, are a beginning of the run, too.
    private let borders: [Int]

    init(_ scalars: [Unicode.Scalar]) {
        self.scalars = scalars
        var borders = [Int](repeating: 0, count: scalars.count)
        var fitting = 0
        for place in scalars.indices.dropFirst() {
            while fitting > 0, scalars[fitting] != scalars[place] { fitting = borders[fitting - 1] }
            if scalars[fitting] == scalars[place] { fitting += 1 }
            borders[place] = fitting
        }
        self.borders = borders
    }

    /// How many characters of the run a text ends with, behind one more character.
    /// - Parameters:
    ///   - former: how many they were before it; not all.
    ///   - isJoined: the character stands directly behind the one before.
    func fitting(_ former: Int, and scalar: Unicode.Scalar, isJoined: Bool) -> Int {
        var fitting = isJoined ? former : 0
        while fitting > 0, scalars[fitting] != scalar { fitting = borders[fitting - 1] }
        return scalars[fitting] == scalar ? fitting + 1 : 0
    }
}
