internal import CCurl
import EventLoop

/// libcurl's multi interface on a loop: the loop waits for its sockets and its time, and it never blocks.
///
/// Belongs to the loop. libcurl tells it what to watch while it works; calls end only when libcurl has returned.
final class Engine {
    typealias Completion = (Result<HTTPClientAnswer, HTTPClientError>) -> Void

    private final class Call {
        let request: HTTPClientRequest
        let server: String
        let completion: Completion
        var deadline: LoopTimer?
        /// nil: it waits.
        var transfer: Transfer?

        init(_ request: HTTPClientRequest, _ completion: @escaping Completion) {
            self.request = request
            server = request.origin
            self.completion = completion
        }
    }

    private let loop: EventLoop
    private let configuration: HTTPClientConfiguration
    /// Made with the first call.
    private var multi: UnsafeMutableRawPointer?
    private var timer: LoopTimer?
    private var sockets: [Int32: SocketPoll] = [:]
    private var calls: [UInt64: Call] = [:]
    private var lines: CallLines
    private var numbers: [UnsafeMutableRawPointer: UInt64] = [:]

    init(_ loop: EventLoop, _ configuration: HTTPClientConfiguration) {
        self.loop = loop
        self.configuration = configuration
        lines = CallLines(perServerMax: configuration.callsPerServerMax, waitingMax: configuration.waitingMax)
    }

    deinit {
        // Without `close()`, and so perhaps not on the loop; no call is under way, as its caller holds the client.
        guard let multi else { return }
        chatroom_curl_multi_set_watchers(multi, nil, nil, nil)
        curl_multi_cleanup(multi)
    }

    // MARK: - Calls

    func begin(_ number: UInt64, _ request: HTTPClientRequest, _ completion: @escaping Completion) {
        let call = Call(request, completion)
        let place = lines.enter(number, to: call.server)
        guard place != .busy else {
            return completion(.failure(HTTPClientError(.busy, "\(lines.waitingCount) calls wait already")))
        }
        calls[number] = call
        call.deadline = loop.schedule(afterMilliseconds: UInt64(max(0, request.timeoutMilliseconds))) { [weak self] in
            self?.timeIsOver(number)
        }
        if place == .start { start(number) }
    }

    func cancel(_ number: UInt64) {
        guard let call = calls[number] else { return }
        end(
            number,
            .failure(
                HTTPClientError(.cancelled, nothingSent: call.transfer?.hasSent != true, "the call was cancelled")))
    }

    private func timeIsOver(_ number: UInt64) {
        guard let call = calls[number] else { return }
        end(
            number,
            .failure(
                HTTPClientError(
                    .timeout, nothingSent: call.transfer?.hasSent != true,
                    "no whole answer within \(call.request.timeoutMilliseconds) ms")))
    }

    /// Starts a call that has a place, and the next one if that cannot be started.
    private func start(_ first: UInt64) {
        var next: UInt64? = first
        while let number = next, let call = calls[number] {
            do throws(HTTPClientError) {
                let transfer = try Transfer(call.request, configuration)
                let multi = try madeMulti()
                call.transfer = transfer
                numbers[transfer.easy] = number
                guard curl_multi_add_handle(multi, transfer.easy) == CURLM_OK else {
                    throw HTTPClientError(.other, "libcurl takes no more calls")
                }
                return
            } catch {
                next = leave(number)
                call.completion(.failure(error))
            }
        }
    }

    /// Ends a call. Not while libcurl works.
    private func end(_ number: UInt64, _ result: Result<HTTPClientAnswer, HTTPClientError>) {
        guard let call = calls[number] else { return }
        if let next = leave(number) { start(next) }
        call.completion(result)
    }

    /// Forgets a call. The one that takes its place.
    private func leave(_ number: UInt64) -> UInt64? {
        guard let call = calls.removeValue(forKey: number) else { return nil }
        call.deadline?.cancel()
        call.deadline = nil
        // It waited.
        if lines.leave(number, to: call.server) { return nil }
        if let transfer = call.transfer {
            numbers[transfer.easy] = nil
            if let multi { curl_multi_remove_handle(multi, transfer.easy) }
            call.transfer = nil
        }
        return lines.ended(at: call.server)
    }

    /// Ends all calls and connections.
    func close() {
        for number in Array(calls.keys) {
            guard let call = calls[number] else { continue }
            let hasSent = call.transfer?.hasSent == true
            _ = leave(number)
            call.completion(.failure(HTTPClientError(.shutDown, nothingSent: !hasSent, "the client was shut down")))
        }
        if let multi {
            curl_multi_cleanup(multi)
            self.multi = nil
        }
        timer?.cancel()
        timer = nil
        for poll in sockets.values { poll.close() }
        sockets = [:]
    }

    // MARK: - libcurl

    private func madeMulti() throws(HTTPClientError) -> UnsafeMutableRawPointer {
        if let multi { return multi }
        guard Self.isInitialised, let multi = curl_multi_init() else {
            throw HTTPClientError(.other, "libcurl can't be initialised")
        }
        _ = chatroom_curl_multi_set_long(multi, CURLMOPT_MAXCONNECTS, configuration.idleConnectionsMax)
        chatroom_curl_multi_set_watchers(
            multi,
            { _, descriptor, interest, me, _ in
                Engine.from(me).watch(descriptor, interest)
                return 0
            },
            { _, milliseconds, me in
                Engine.from(me).setTimer(milliseconds)
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
        self.multi = multi
        return multi
    }

    /// Once in a process, and never undone.
    private static let isInitialised = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    private static func from(_ context: UnsafeMutableRawPointer?) -> Engine {
        Unmanaged<Engine>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
    }

    private func watch(_ descriptor: Int32, _ interest: Int32) {
        guard interest != CURL_POLL_REMOVE else {
            sockets.removeValue(forKey: descriptor)?.close()
            return
        }
        var readiness: SocketPoll.Readiness = []
        if interest & CURL_POLL_IN != 0 { readiness.insert(.readable) }
        if interest & CURL_POLL_OUT != 0 { readiness.insert(.writable) }
        if sockets[descriptor] == nil {
            // A socket that can't be watched: the call ends with its time.
            sockets[descriptor] = SocketPoll(loop: loop, descriptor: descriptor) { [weak self] ready in
                self?.socketIsReady(descriptor, ready)
            }
        }
        sockets[descriptor]?.wait(for: readiness)
    }

    private func socketIsReady(_ descriptor: Int32, _ ready: SocketPoll.Readiness) {
        guard let multi else { return }
        var events: Int32 = 0
        if ready.contains(.readable) { events |= CURL_CSELECT_IN }
        if ready.contains(.writable) { events |= CURL_CSELECT_OUT }
        if ready.contains(.failed) { events |= CURL_CSELECT_ERR }
        var running: Int32 = 0
        curl_multi_socket_action(multi, descriptor, events, &running)
        takeResults()
    }

    /// - Parameter milliseconds: until libcurl is to be called; negative: it waits for sockets only.
    private func setTimer(_ milliseconds: Int) {
        timer?.cancel()
        timer = nil
        guard milliseconds >= 0 else { return }
        timer = loop.schedule(afterMilliseconds: UInt64(milliseconds)) { [weak self] in
            guard let self, let multi else { return }
            timer = nil
            var running: Int32 = 0
            chatroom_curl_multi_time_is_over(multi, &running)
            takeResults()
        }
    }

    private func takeResults() {
        var left: Int32 = 0
        while let multi, let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let number = numbers[message.pointee.easy_handle],
                let transfer = calls[number]?.transfer
            else { continue }
            end(number, transfer.result(message.pointee.data.result))
        }
    }
}
