import ChatModel
import ClusterRouting
import Media
import RoomProtocol
import SystemGroupHost

/// The nodes that store content, as the cluster lists them and as they are reached now.
struct MediaNodes: Sendable {
    let node: NodeID
    let nodes: ClusterNodes
    let system: SystemGroup

    private var dataNodes: [NodeID] {
        let listed = system.nodes.filter { $0.role == .data }
        let staying = listed.filter { !$0.isDraining }
        return (staying.isEmpty ? listed : staying).map(\.node)
    }

    /// Those of them that can be asked now.
    var reached: [NodeID] {
        let reached = nodes.reached
        return dataNodes.filter { $0 == node || reached.contains($0) }
    }

    /// The same with the number of the connection to each: another one after a restart, however short.
    var connections: [NodeID: UInt64] {
        let arrivals = nodes.arrivals
        return Dictionary(reached.map { ($0, arrivals[$0] ?? 0) }) { first, _ in first }
    }

    /// On how many nodes content has to be.
    var copies: Int { max(1, min(MediaPlaces.copies, dataNodes.count)) }

    /// The nodes that can store the content now, in their order: the first ``copies`` of them whose disks have a place for it
    /// are to have it. Nil where not enough of them can be reached.
    func places(of id: String) -> [NodeID]? {
        let order = MediaPlaces.order(of: id, among: reached)
        return order.count >= copies ? order : nil
    }

    /// The one node that does a thing for all.
    func first(for task: String) -> NodeID { MediaPlaces.order(of: task, among: reached).first ?? node }

    /// Tells the second node what this one knows of a user, and hears what that one knows.
    func exchange(_ use: UploadUse) async -> UploadUse? {
        guard let other = second(for: use.user.text),
            case .mediaUses(let known)? = try? await nodes.ask(other, .mediaUses(use))
        else { return nil }
        return known
    }

    /// The node that goes on with it where this one does it now and goes away; nil: there is no other.
    func second(for task: String) -> NodeID? { MediaPlaces.order(of: task, among: reached).first { $0 != node } }
}
