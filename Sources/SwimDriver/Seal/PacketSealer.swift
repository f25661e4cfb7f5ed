internal import Cryptography

/// Authenticates and encrypts gossip packets with the cluster's keys, and refuses what is replayed.
///
///     packet = 1 | key ID (4) | session (16) | time (8) | counter (8) | ciphertext | tag (16)
///
/// AES-256-GCM; all before the ciphertext is authenticated too. A session is random and made at each start; its own key
/// is derived from the cluster's key (HKDF-SHA-256 with the session as salt), so that the counter alone can be the
/// nonce: no two nodes, and no two runs of one, ever use a nonce twice with the same key. Times are of the wall clock,
/// in milliseconds: a packet that is more than `freshness` away from the receiver's clock is refused, and for that long
/// every session is remembered with the counters that were seen. So a packet is opened once by each receiver, except
/// by one that was started again within `freshness`; and one that was meant for another node may be shown to this one.
/// Both are harmless here, because news is idempotent by its incarnation and a ping names its target.
///
/// A sender without a key gets nothing: a packet that does not open must not be answered.
public struct PacketSealer: Sendable {
    /// The bytes that sealing adds.
    public static let overheadBytes = headerBytes + tagBytes
    private static let headerBytes = 1 + 4 + 16 + 8 + 8
    private static let tagBytes = AESGCMKey.tagBytes
    private static let version: UInt8 = 1

    /// How far clocks may differ, and how old a packet may be.
    public static let freshness = Duration.seconds(60)
    /// Sessions that are remembered. Only holders of a key make one; beyond the bound new ones are refused until old
    /// ones have had their time.
    public static let sessionsMax = 1_024

    private struct Session: Sendable {
        var window = ReplayWindow()
        /// The newest time among its packets.
        var lastMilliseconds: Int64
        var key: AESGCMKey
    }

    private struct SessionID: Hashable, Sendable {
        var key: UInt32
        var salt: [UInt8]
    }

    private var ring: KeyRing
    private let salt: [UInt8]
    private var ownKey: AESGCMKey
    private var counter: UInt64 = 0
    private var sessions: [SessionID: Session] = [:]

    /// - Parameter session: 16 bytes that are random and secret from nobody, new at each start.
    public init?(_ ring: KeyRing, session: [UInt8]) {
        guard session.count == 16, let first = ring.keys.first else { return nil }
        self.ring = ring
        salt = session
        ownKey = Self.sessionKey(first.secret, session)
    }

    /// Exchanges the keys; see `KeyRing` for the order.
    public mutating func use(_ ring: KeyRing) {
        guard let first = ring.keys.first else { return }
        self.ring = ring
        ownKey = Self.sessionKey(first.secret, salt)
        let known = Set(ring.keys.map(\.id))
        sessions = sessions.filter { known.contains($0.key.key) }
    }

    private static func sessionKey(_ secret: [UInt8], _ salt: [UInt8]) -> AESGCMKey {
        AESGCMKey(
            HKDF.key(
                from: secret, salt: salt, info: Array("chatroom gossip packet".utf8), bytes: AESGCMKey.keyBytes))
    }

    private static func nonce(_ counter: UInt64) -> [UInt8] { [0, 0, 0, 0] + bigEndian(counter) }

    // MARK: - Sealing

    /// The sealed packet; nil when the counter of this run is used up, which 2^64 packets do not bring about.
    public mutating func seal(_ bytes: [UInt8], milliseconds: Int64) -> [UInt8]? {
        guard counter < .max, let key = ring.keys.first else { return nil }
        counter += 1
        var packet = [Self.version]
        packet += Self.bigEndian(key.id)
        packet += salt
        packet += Self.bigEndian(UInt64(bitPattern: milliseconds))
        packet += Self.bigEndian(counter)
        return packet + ownKey.seal(bytes, nonce: Self.nonce(counter), authenticating: packet)
    }

    // MARK: - Opening

    /// The packet's contents; nil for what is not from a holder of a key, too old, from this run itself or seen before.
    public mutating func open(_ packet: some Collection<UInt8>, milliseconds now: Int64) -> [UInt8]? {
        let packet = Array(packet)
        guard packet.count >= Self.overheadBytes, packet[0] == Self.version else { return nil }
        let keyID = UInt32(truncatingIfNeeded: Self.number(packet[1..<5]))
        let salt = Array(packet[5..<21])
        let time = Int64(bitPattern: Self.number(packet[21..<29]))
        let counter = Self.number(packet[29..<37])
        guard salt != self.salt, let key = ring.keys.first(where: { $0.id == keyID }), Self.isFresh(time, now) else {
            return nil
        }
        let id = SessionID(key: keyID, salt: salt)
        let known = sessions[id]
        guard known?.window.isNew(counter) ?? true else { return nil }
        let sessionKey = known?.key ?? Self.sessionKey(key.secret, salt)
        let contents: [UInt8]
        do throws(CryptographyError) {
            contents = try sessionKey.open(
                packet[Self.headerBytes...], nonce: Self.nonce(counter), authenticating: packet[..<Self.headerBytes])
        } catch {
            return nil
        }
        // Only what was authenticated is remembered.
        guard known != nil || makePlace(now) else { return nil }
        var session = known ?? Session(lastMilliseconds: time, key: sessionKey)
        session.window.note(counter)
        session.lastMilliseconds = max(session.lastMilliseconds, time)
        sessions[id] = session
        return contents
    }

    private static func isFresh(_ time: Int64, _ now: Int64) -> Bool {
        let (distance, overflow) = time.subtractingReportingOverflow(now)
        return !overflow && distance.magnitude <= UInt64(freshness.components.seconds) * 1_000
    }

    /// A session whose newest packet is not fresh any more has none that would be opened.
    private mutating func makePlace(_ now: Int64) -> Bool {
        guard sessions.count >= Self.sessionsMax else { return true }
        sessions = sessions.filter { Self.isFresh($0.value.lastMilliseconds, now) }
        return sessions.count < Self.sessionsMax
    }

    // MARK: - Numbers

    private static func bigEndian(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.bigEndian) { Array($0) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    }
}
