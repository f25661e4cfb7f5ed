import Gateway
import Media
import SwimDriver

extension KeysFile {
    /// Makes the IDs of sessions, alike on all nodes that have the cluster keys.
    func sessionSeal() throws(NodeError) -> SessionSeal {
        try clusterRing().map { SessionSeal(secrets: $0.sessionSecrets) } ?? .ofThisRun()
    }

    /// Makes the tokens of content, likewise.
    func mediaSeal() throws(NodeError) -> MediaSeal {
        try clusterRing().map { MediaSeal(secrets: $0.mediaSecrets) } ?? .ofThisRun()
    }
}
