import ChatModel
import Deflate
import EventLoop
import HTTPWebSocket
import SessionCore
import Telemetry
import Wire

/// Messages that come compressed (PROTOCOL.md, "Compression").
extension ClientConnection {
    /// A compressed message becomes no larger than one that comes as it is may be.
    func takeCompressed(_ payload: UnsafeRawBufferPointer, isText: Bool) {
        guard let inflater = lane.compression?.inflater else {
            return close(.protocolError, "compression was not negotiated")
        }
        do throws(Inflater.Failure) {
            let message =
                session == nil
                ? try inflatedConnect(payload, isText, inflater)
                : try inflater.inflate(payload, bytesMax: messageBytesMax)
            message.withUnsafeBytes { message in
                guard isText else { return takeBinary(message) }
                guard WebSocketFrameDecoder.isText(message) else { return close(.invalidText, "text is not UTF-8") }
                takeText(message)
            }
            charge(message.count - payload.count)
        } catch {
            switch error {
            case .corrupt: close(.invalidText, "a message that can't be decompressed")
            case .tooBig: close(.tooBig, "message too big")
            case .unwanted: close(.policyViolation, "a compressed message before connect")
            case .tooDear: close(.policyViolation, "a message that is dear to decompress")
            }
        }
    }

    /// Counts the bytes by which a message has grown against the share of the turn. A connection that goes on so is read no
    /// further for a while.
    private func charge(_ bytes: Int) {
        guard bytes > 0 else { return }
        bytesLeft -= bytes
        var bucket = inflation ?? lane.inflationBucket
        bucket.take(Double(bytes))
        inflation = bucket
        guard !isOverdrawn, owesInflation() else { return }
        isOverdrawn = true
        pauseReading()
        lane.readLater(overdrawn: self)
    }

    /// Whether its messages have grown by more than they may until now.
    func owesInflation() -> Bool {
        inflation?.wait(for: 0, nowMilliseconds: lane.loop.nowMilliseconds) != nil
    }

    /// Before `connect` is answered one message is inflated, no more, and only if it is a `connect`: browsers compress
    /// whatever they send, their `connect` too. Any other message of a stranger is dropped after its first bytes.
    private func inflatedConnect(
        _ payload: UnsafeRawBufferPointer, _ isText: Bool, _ inflater: Inflater
    ) throws(Inflater.Failure) -> [UInt8] {
        guard !hasInflated else { throw .unwanted }
        // A frame of the wrong type is refused by its type alone.
        guard isText == (encoding == .json) else { return [] }
        hasInflated = true
        do throws(Inflater.Failure) {
            let message = try inflater.inflate(
                payload, bytesMax: messageBytesMax,
                ifWanted: { beginning in
                    ClientFrame.showsConnect(beginning, encoding)
                })
            lane.shared.figures.inflatedConnects.add()
            return message
        } catch {
            lane.shared.figures.inflatedRefusals.add()
            throw error
        }
    }
}
