import ChatModel
import Deflate
import HTTPWebSocket
import RoomProtocol

/// The compressed stream of a room on one lane, for JSON (PROTOCOL.md, "Compression"): turns what the room shows into
/// frames that everybody reads who is in step, and into a primer for those who are not.
///
/// Only kept messages enter the window. They are the same for all viewers, and who gets them once more knows them by their
/// `seq`. Any other line goes as it is, in its place between them.
struct CompressedStream {
    /// A frame of the room in the stream.
    struct Step {
        /// Frames that bring others into step just before it; empty where nothing is needed, nil where nothing helps.
        let primer: [UInt8]?
        let bytes: [UInt8]
    }

    /// Lines of a frame that are written alike.
    private struct Run: Equatable {
        enum Kind { case kept, other }

        var kind: Kind
        var lines: Range<Int>
        /// The room has taken messages back: nobody is shown them any more, in a primer neither.
        var beginsAnew = false
    }

    private var window = SharedWindow()
    /// The beginning of a kept message.
    private let keptPrefix: [UInt8]
    private var lastSeq: UInt64 = 0

    init(room: RoomID) { keptPrefix = Array(#"{"message":{"room":"\#(room)","seq":"#.utf8) }

    /// The bytes that it keeps.
    var byteCount: Int { window.byteCount }

    /// The next frame of the room.
    /// - Parameter needsPrimer: whether somebody is not in step.
    /// - Returns: nil when it goes to everybody as it is.
    mutating func append(_ frame: SharedFrame, needsPrimer: Bool, by compression: LaneCompression) -> Step? {
        guard frame.traffic == .messages, let seqs = frame.keptSeqs, let json = frame.json else { return nil }
        return json.withUnsafeBytes { bytes in
            let payload = UnsafeRawBufferPointer(rebasing: bytes[WebSocketFrameEncoder.headerCount(of: json)...])
            let runs = runs(of: payload)
            guard runs.contains(where: { $0.kind == .kept }) else { return nil }
            // Numbers that come again are those of another life of the room.
            if seqs.lowerBound <= lastSeq || runs.contains(where: \.beginsAnew) { window.removeAll() }
            lastSeq = seqs.upperBound
            let primer = needsPrimer ? primer(by: compression) : []
            guard let written = write(runs, of: payload, by: compression) else { return nil }
            return Step(primer: primer, bytes: written)
        }
    }

    private func primer(by compression: LaneCompression) -> [UInt8]? {
        window.primer(by: compression.primers)?.reduce(into: []) {
            $0 += WebSocketFrameEncoder.compressedFrame(.text, $1)
        }
    }

    /// - Returns: nil when none of it is in the stream.
    private mutating func write(
        _ runs: [Run], of payload: UnsafeRawBufferPointer, by compression: LaneCompression
    ) -> [UInt8]? {
        var (written, isInStream) = ([UInt8](), false)
        written.reserveCapacity(payload.count / 2)
        for run in runs {
            let lines = UnsafeRawBufferPointer(rebasing: payload[run.lines])
            if run.beginsAnew { window.removeAll() }
            if run.kind == .kept, let compressed = window.append(lines, by: compression.streams) {
                written += WebSocketFrameEncoder.compressedFrame(.text, compressed)
                isInStream = true
            } else {
                WebSocketFrameEncoder.append(.text, lines, to: &written)
            }
        }
        return isInStream ? written : nil
    }

    private func runs(of payload: UnsafeRawBufferPointer) -> [Run] {
        var runs: [Run] = []
        var start = 0
        while start < payload.count {
            let end = payload[start...].firstIndex(of: UInt8(ascii: "\n")) ?? payload.count
            let line = UnsafeRawBufferPointer(rebasing: payload[start..<end])
            let kind = line.starts(with: keptPrefix) ? Run.Kind.kept : .other
            let beginsAnew = kind == .kept && Self.isRecall(line)
            if let last = runs.last, last.kind == kind, !beginsAnew {
                runs[runs.count - 1].lines = last.lines.lowerBound..<end
            } else {
                runs.append(Run(kind: kind, lines: start..<end, beginsAnew: beginsAnew))
            }
            start = end + 1
        }
        return runs
    }

    /// Whether a line has the key with that number. Within a string each quotation mark has a backslash in front.
    private static func isRecall(_ line: UnsafeRawBufferPointer) -> Bool {
        var rest = line[...]
        while let quote = rest.firstIndex(of: UInt8(ascii: "\"")) {
            rest = rest[(quote + 1)...]
            if rest.starts(with: recall) { return true }
        }
        return false
    }

    /// The rest of the key `event`, and the number of 323.
    private static let recall = Array(#"event":\#(EventCode.recalled.rawValue)"#.utf8)
}
