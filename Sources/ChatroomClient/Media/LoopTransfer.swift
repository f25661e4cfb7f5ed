#if !canImport(Darwin)
    import ChatModel
    import ClientCore
    internal import EventLoop
    internal import TLS
    internal import Transport

    extension MediaTransfer {
        /// Returns when the server has all of it.
        func run() async throws(ClientError) {
            let shared: ClientLoop
            let context: TLSContext?
            do {
                shared = try ClientLoop.shared.get()
                context = address.isSecure ? try tls.context(address.host) : nil
            } catch {
                throw (error as? ClientError) ?? ClientError(.connectionFailed, "\(error)")
            }
            let transfer = LoopBound(LoopTransfer(self, context), loop: shared.loop)
            let result = await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    shared.loop.execute {
                        transfer.value.start(shared.loop, shared.tls.value) { continuation.resume(returning: $0) }
                    }
                }
            } onCancel: {
                shared.loop.execute { transfer.value.end(.failure(MediaTransfer.cancelled)) }
            }
            let (status, body) = try result.get()
            try Self.check(status: status, body: body)
        }
    }

    /// The part of a transfer that runs on the loop. It holds one piece of the content besides the content itself.
    private final class LoopTransfer: ConnectionHandler {
        typealias Answer = (status: Int, body: [UInt8])

        private let transfer: MediaTransfer
        private let context: TLSContext?
        private var tcp: TCPConnection?
        private var offset = 0
        private var answer: [UInt8] = []
        private var completion: ((Result<Answer, ClientError>) -> Void)?
        private var result: Result<Answer, ClientError>?
        private var loop: EventLoop?
        private var watch: LoopTimer?
        /// When the server has last taken or sent something, as the loop's time.
        private var heardAtMilliseconds: UInt64 = 0
        private static let pieceBytes = 64 * 1024
        private static let answerBytesMax = 64 * 1024

        init(_ transfer: MediaTransfer, _ context: TLSContext?) {
            self.transfer = transfer
            self.context = context
        }

        func start(
            _ loop: EventLoop, _ output: TLSOutput, _ completion: @escaping (Result<Answer, ClientError>) -> Void
        ) {
            // It may have been cancelled before.
            if let result { return completion(result) }
            self.completion = completion
            self.loop = loop
            heardAtMilliseconds = loop.nowMilliseconds
            watch = loop.every(milliseconds: 1000) { [self] in
                guard loop.nowMilliseconds >= heardAtMilliseconds + UInt64(transfer.stallSeconds) * 1000 else { return }
                end(.failure(MediaTransfer.brokenOff))
            }
            let address = transfer.address
            TCPConnection.connect(
                loop: loop, host: address.host, port: address.port,
                timeoutMilliseconds: UInt64(max(1, transfer.connectMilliseconds))
            ) { [self] result in
                switch result {
                case .success(let tcp): connected(tcp, output)
                case .failure(let error): end(.failure(ClientError(.connectionLost, "\(error)")))
                }
            }
        }

        private func connected(_ tcp: TCPConnection, _ output: TLSOutput) {
            guard result == nil else { return tcp.close() }
            self.tcp = tcp
            tcp.handler = self
            do throws(TLSError) {
                if let context { try tcp.secure(with: context, output: output) }
            } catch {
                return end(.failure(ClientError(.connectionFailed, "\(error)")))
            }
            let headers = transfer.headers.map { "\($0.name): \($0.value)\r\n" }.joined()
            let head =
                "PUT \(transfer.target) HTTP/1.1\r\nHost: \(transfer.address.signedAuthority)\r\n\(headers)"
                + "Content-Length: \(transfer.content.count)\r\nConnection: close\r\n\r\n"
            write(Array(head.utf8)[...])
            tcp.startReading()
            writeOn()
        }

        private func hear() { if let loop { heardAtMilliseconds = loop.nowMilliseconds } }

        private func writeOn() {
            hear()
            while let tcp, !tcp.isWriting, offset < transfer.content.count, result == nil {
                let piece = transfer.content[offset..<min(transfer.content.count, offset + Self.pieceBytes)]
                offset += piece.count
                write(piece)
                transfer.progress(offset)
            }
        }

        private func write(_ bytes: ArraySlice<UInt8>) {
            guard let tcp else { return }
            let written = bytes.withUnsafeBytes { tcp.tryWrite($0) }
            if written < bytes.count { tcp.write(SharedBytes(copying: bytes.dropFirst(written))) }
        }

        func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
            guard answer.count + bytes.count <= Self.answerBytesMax else {
                return end(.failure(MediaTransfer.brokenOff))
            }
            hear()
            answer += bytes
        }

        func connectionDidDrain(_ connection: TCPConnection) { writeOn() }

        /// The server ends the connection behind its answer.
        func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
            tcp = nil
            let head = answer.prefix(13)
            guard head.starts(with: "HTTP/1.1 ".utf8),
                let status = Int(String(decoding: head.dropFirst(9).prefix(3), as: UTF8.self)),
                let end = Self.endOfHead(answer)
            else { return self.end(.failure(MediaTransfer.brokenOff)) }
            self.end(.success((status, Array(answer[end...]))))
        }

        private static func endOfHead(_ bytes: [UInt8]) -> Int? {
            var place = 0
            while place + 4 <= bytes.count {
                if bytes[place..<place + 4].elementsEqual("\r\n\r\n".utf8) { return place + 4 }
                place += 1
            }
            return nil
        }

        func end(_ result: Result<Answer, ClientError>) {
            guard self.result == nil else { return }
            self.result = result
            watch?.cancel()
            tcp?.close()
            let completion = completion
            self.completion = nil
            completion?(result)
        }
    }
#endif
