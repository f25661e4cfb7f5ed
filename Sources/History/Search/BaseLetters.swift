/// Lower-case letters without their diacritics, for the letters of Latin, Greek and Cyrillic that Unicode has as one scalar:
/// the base of the canonical decomposition. Strokes (ł, ø, đ, ħ, ŧ) count as diacritics here, and a final sigma is a sigma.
///
/// Made from the Unicode Character Database; a test compares it with what Unicode says of a decomposed letter.
enum BaseLetters {
    /// The base of a letter; nil where the table has none.
    static func base(of scalar: UInt32) -> Unicode.Scalar? {
        for table in tables where scalar >= table.first {
            let place = Int(scalar - table.first)
            if place < table.letters.count { return table.letters[place] }
        }
        return nil
    }

    private struct Table: Sendable {
        var first: UInt32
        var letters: [Unicode.Scalar]

        init(_ first: UInt32, _ letters: String) {
            self.first = first
            self.letters = Array(letters.unicodeScalars)
        }
    }

    /// The last one first.
    private static let tables = [
        Table(
            0x1F00,
            """
            ααααααααααααααααεεεεεε··εεεεεε··ηηηηηηηηηηηηηηηηιιιιιιιιιιιιιιιι\
            οοοοοο··οοοοοο··υυυυυυυυ·υ·υ·υ·υωωωωωωωωωωωωωωωωααεεηηιιοουυωω··\
            ααααααααααααααααηηηηηηηηηηηηηηηηωωωωωωωωωωωωωωωωααααα·ααααααα
            """),
        Table(
            0x1E00,
            """
            aabbbbbbccddddddddddeeeeeeeeeeffgghhhhhhhhhhiiiikkkkkkllllllllmm\
            mmmmnnnnnnnnoooooooopppprrrrrrrrssssssssssttttttttuuuuuuuuuuvvvv\
            wwwwwwwwwwxxxxyyzzzzzzhtwyẚſẜẝßẟaaaaaaaaaaaaaaaaaaaaaaaaeeeeeeee\
            eeeeeeeeiiiioooooooooooooooooooooooouuuuuuuuuuuuuuyyyyyyyyỻỻỽỽỿỿ
            """),
        Table(
            0x48A,
            """
            ҋҋҍҍҏҏґґғғҕҕҗҗҙҙққҝҝҟҟҡҡңңҥҥҧҧҩҩҫҫҭҭүүұұҳҳҵҵҷҷҹҹһһҽҽҿҿӏжжӄӄӆӆӈӈӊ\
            ӊӌӌӎӎӏааааӕӕееәәәәжжззӡӡииииооөөөөээууууууччӷӷыыӻӻӽӽӿӿԁԁԃԃԅԅԇԇԉԉ\
            ԋԋԍԍԏԏԑԑԓԓԕԕԗԗԙԙԛԛԝԝԟԟԡԡԣԣԥԥԧԧԩԩԫԫԭԭԯԯ
            """),
        Table(
            0x400,
            """
            ееђгєѕііјљњћкиуџабвгдежзииклмнопрстуфхцчшщъыьэюяабвгдежзииклмноп\
            рстуфхцчшщъыьэюяееђгєѕііјљњћкиуџѡѡѣѣѥѥѧѧѩѩѫѫѭѭѯѯѱѱѳѳѵѵѵѵѹѹѻѻѽѽѿѿ\
            ҁҁ
            """),
        Table(
            0x388,
            """
            εηι·ο·υωιαβγδεζηθικλμνξοπρ·στυφχψωιυαεηιυαβγδεζηθικλμνξοπρσστυφχ\
            ψωιυουω
            """),
        Table(
            0xF8,
            """
            ouuuuyþyaaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiĳĳjjkk\
            ĸllllllŀŀllnnnnnnŉŋŋooooooœœrrrrrrssssssssttttttuuuuuuuuuuuuwwyy\
            yzzzzzzſbɓƃƃƅƅɔƈƈɖɗƌƌƍǝəɛƒƒɠɣƕɩiƙƙƚƛɯɲƞɵooƣƣƥƥʀƨƨʃƪƫƭƭʈuuʊʋƴƴƶƶʒ\
            ƹƹƺƻƽƽƾƿǀǁǂǃǆǆǆǉǉǉǌǌǌaaiioouuuuuuuuuuǝaaaaææǥǥggkkooooʒʒjǳǳǳggƕƿ\
            nnaaææooaaaaeeeeiiiioooorrrruuuussttȝȝhhƞȡȣȣȥȥaaeeooooooooyyȴȵȶȷ\
            ȸȹⱥȼȼƚⱦȿɀɂɂbʉʌɇɇɉɉɋɋɍɍɏɏ
            """),
        Table(
            0xD8,
            """
            ouuuuyþßaaaaaaæceeeeiiiiðnooooo
            """),
        Table(
            0xC0,
            """
            aaaaaaæceeeeiiiiðnooooo
            """),
    ]
}
