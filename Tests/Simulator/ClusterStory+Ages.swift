import ChatModel
import Foundation
import SimulatedSystem

extension ClusterStory {
    /// The days of history have passed: what was said is gone at each replica, and the rooms go on counting from there.
    func age(_ rooms: [RoomID]) async throws {
        trace("eleven days pass")
        for node in 0..<plan.layout.nodes {
            if let host = cluster.host(node) { sim_skew(host.number, 11 * 86_400 * 1_000_000_000) }
        }
        // Old days are looked for every ten minutes.
        try await Task.sleep(for: .seconds(650))
        for room in rooms {
            guard let before = await lastSeq(of: room) else {
                complain(.refused, "\(room) does not say how far it is")
                continue
            }
            guard await asked("POST", "/v1/rooms/\(room)/messages", #"{"type":"TEXT","text":"later","sender":"host"}"#)
            else { continue }
            guard let page = await cluster.text(0, "/v1/rooms/\(room)/messages?order=ASC&limit=100") else {
                complain(.agedWrongly, "\(room) has no history after eleven days")
                continue
            }
            let seqs = page.split(separator: "\"seq\":").dropFirst().compactMap { UInt64($0.prefix { $0.isNumber }) }
            if seqs != [before + 1] {
                complain(
                    .agedWrongly,
                    "after eleven days and \(before) messages \(room) has \(seqs.prefix(5)), \(seqs.count) in all")
            }
            count("aged")
        }
    }

    private func lastSeq(of room: RoomID) async -> UInt64? {
        guard let text = await cluster.text(0, "/v1/rooms/\(room)/explain"),
            let place = text.range(of: "\"lastSeq\":")
        else { return nil }
        return UInt64(text[place.upperBound...].prefix { $0.isNumber })
    }
}
