import Gateway
import SwimDriver

extension KeysFile {
    /// Makes the IDs of sessions, alike on all nodes that have the cluster keys.
    func sessionSeal() throws(NodeError) -> SessionSeal {
        try clusterRing().map { SessionSeal(secrets: $0.sessionSecrets) } ?? .ofThisRun()
    }
}
