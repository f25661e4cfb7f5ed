internal import CCurl
internal import Glibc
import Transport

/// One call as libcurl sees it. Callbacks of libcurl while it works are only noted here: nothing may be ended then.
final class Transfer {
    let easy: UnsafeMutableRawPointer
    private var headers: UnsafeMutablePointer<curl_slist>?
    private let answerBytesMax: Int
    private let headerBytesMax: Int
    private let refusesPrivateAddresses: Bool
    private var body: [UInt8] = []
    private var headerBytes = 0
    private let wantedHeaders: Set<String>
    private var foundHeaders: [String: String] = [:]
    private var isTooLarge = false
    private var hasRefusedAddress = false

    init(_ request: HTTPClientRequest, _ configuration: HTTPClientConfiguration) throws(HTTPClientError) {
        guard let easy = curl_easy_init() else { throw HTTPClientError(.other, "libcurl has no memory") }
        self.easy = easy
        answerBytesMax = request.answerBytesMax
        wantedHeaders = request.answerHeaders
        headerBytesMax = configuration.headerBytesMax
        refusesPrivateAddresses = configuration.refusesPrivateAddresses
        // From here on deinit frees the handle, whatever is thrown.
        try setRules(configuration)
        try set(request)
        try setTakers()
    }

    deinit {
        curl_easy_cleanup(easy)
        curl_slist_free_all(headers)
    }

    // MARK: - Options

    /// Sets the options that no request changes.
    private func setRules(_ configuration: HTTPClientConfiguration) throws(HTTPClientError) {
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        // An empty text: not even that of the environment.
        try set(CURLOPT_PROXY, "")
        try set(CURLOPT_NOSIGNAL, 1)
        // Otherwise the end of a call waits for a look-up of its name, and with it the whole loop.
        try set(CURLOPT_QUICK_EXIT, 1)
        try set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        try set(CURLOPT_PATH_AS_IS, 1)
        try set(CURLOPT_CONNECTTIMEOUT_MS, Int(configuration.connectMilliseconds))
        try set(CURLOPT_MAXAGE_CONN, configuration.idleSeconds)
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        try set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        if let file = configuration.trustFile { try set(CURLOPT_CAINFO, file) }
        // The directory of the system's roots would be trusted beside the file; and with it the file is read anew for
        // each connection.
        if configuration.trustFile != nil || Self.hasSystemFile { try set(CURLOPT_CAPATH, nil) }
    }

    /// Whether libcurl has the system's roots in one file.
    private static let hasSystemFile: Bool = {
        guard let version = curl_version_info(CURLVERSION_TENTH), let file = version.pointee.cainfo else {
            return false
        }
        return access(file, R_OK) == 0
    }()

    private func set(_ request: HTTPClientRequest) throws(HTTPClientError) {
        guard request.hasValidHeaders, !request.url.utf8.contains(0) else {
            throw HTTPClientError(.request, "the request has a method, a header or a URL that HTTP does not have")
        }
        try set(CURLOPT_URL, request.url)
        if !request.reusesConnection { try set(CURLOPT_FRESH_CONNECT, 1) }
        let hasBody = request.body != nil || ["POST", "PUT", "PATCH"].contains(request.method)
        if hasBody {
            let bytes = request.body ?? []
            try check(bytes.withUnsafeBytes { chatroom_curl_set_body(easy, $0.baseAddress, $0.count) })
        }
        if request.method == "HEAD" {
            try set(CURLOPT_NOBODY, 1)
        } else {
            try set(CURLOPT_CUSTOMREQUEST, request.method)
        }
        for (name, value) in request.headers {
            // This is how libcurl is told of a header without a value.
            try append(header: value.isEmpty ? "\(name);" : "\(name): \(value)")
        }
        // A name without a value takes away what libcurl would add by itself.
        try append(header: "Expect:")
        if hasBody, !request.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
            try append(header: "Content-Type:")
        }
        try check(chatroom_curl_set_pointer(easy, CURLOPT_HTTPHEADER, headers))
    }

    private func append(header: String) throws(HTTPClientError) {
        guard let longer = curl_slist_append(headers, header) else {
            throw HTTPClientError(.other, "libcurl has no memory")
        }
        headers = longer
    }

    private func set(_ option: CURLoption, _ value: Int) throws(HTTPClientError) {
        try check(chatroom_curl_set_long(easy, option, value))
    }

    private func set(_ option: CURLoption, _ value: String?) throws(HTTPClientError) {
        try check(chatroom_curl_set_text(easy, option, value))
    }

    private func check(_ code: CURLcode) throws(HTTPClientError) {
        guard code == CURLE_OK else {
            throw HTTPClientError(.other, "libcurl refuses an option: \(String(cString: curl_easy_strerror(code)))")
        }
    }

    // MARK: - What libcurl calls

    private func setTakers() throws(HTTPClientError) {
        let me = Unmanaged.passUnretained(self).toOpaque()
        try check(chatroom_curl_set_pointer(easy, CURLOPT_WRITEDATA, me))
        try check(
            chatroom_curl_set_receiver(easy, CURLOPT_WRITEFUNCTION) { bytes, size, count, me in
                Transfer.from(me).take(body: UnsafeRawBufferPointer(start: bytes, count: size * count))
            })
        try check(chatroom_curl_set_pointer(easy, CURLOPT_HEADERDATA, me))
        try check(
            chatroom_curl_set_receiver(easy, CURLOPT_HEADERFUNCTION) { bytes, size, count, me in
                Transfer.from(me).take(header: UnsafeRawBufferPointer(start: bytes, count: size * count))
            })
        guard refusesPrivateAddresses else { return }
        try check(chatroom_curl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, me))
        try check(
            chatroom_curl_set_opener(easy) { me, _, address in
                address.map { Transfer.from(me).open($0) } ?? -1
            })
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> Transfer {
        Unmanaged<Transfer>.fromOpaque(context.unsafelyUnwrapped).takeUnretainedValue()
    }

    /// How many bytes were taken; fewer than there are end the call.
    private func take(body bytes: UnsafeRawBufferPointer) -> Int {
        guard bytes.count <= answerBytesMax - body.count else {
            isTooLarge = true
            return 0
        }
        body.append(contentsOf: bytes)
        return bytes.count
    }

    private func take(header line: UnsafeRawBufferPointer) -> Int {
        headerBytes += line.count
        guard headerBytes <= headerBytesMax else {
            isTooLarge = true
            return 0
        }
        if !wantedHeaders.isEmpty, let colon = line.firstIndex(of: UInt8(ascii: ":")) {
            let name = String(decoding: line[..<colon], as: UTF8.self).lowercased()
            if wantedHeaders.contains(name) {
                let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 || $0 == 0x0D || $0 == 0x0A }
                let value = line[(colon + 1)...].drop(while: isSpace).reversed().drop(while: isSpace).reversed()
                foundHeaders[name] = String(decoding: Array(value), as: UTF8.self)
            }
        }
        return line.count
    }

    /// A socket for the very address to which it will be connected, so that a name cannot lead elsewhere in between.
    private func open(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        let base = UnsafeRawPointer(address) + (MemoryLayout<curl_sockaddr>.offset(of: \.addr) ?? 0)
        let bytes: UnsafeRawBufferPointer
        switch address.pointee.family {
        case AF_INET: bytes = UnsafeRawBufferPointer(start: base + 4, count: 4)
        case AF_INET6: bytes = UnsafeRawBufferPointer(start: base + 8, count: 16)
        default: return -1
        }
        guard let target = IPAddress(bytes: bytes), !target.isPrivate else {
            hasRefusedAddress = true
            return -1
        }
        return socket(
            address.pointee.family, address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue), address.pointee.protocol)
    }

    // MARK: - The end

    /// Whether a byte of the request has been sent.
    var hasSent: Bool { number(CURLINFO_REQUEST_SIZE) > 0 }

    private func number(_ info: CURLINFO) -> Int {
        var number = 0
        return chatroom_curl_get_long(easy, info, &number) == CURLE_OK ? number : 0
    }

    func result(_ code: CURLcode) -> Result<HTTPClientAnswer, HTTPClientError> {
        guard code != CURLE_OK else {
            return .success(HTTPClientAnswer(status: number(CURLINFO_RESPONSE_CODE), body: body, headers: foundHeaders))
        }
        return .failure(failure(code))
    }

    private func failure(_ code: CURLcode) -> HTTPClientError {
        let text = String(cString: curl_easy_strerror(code))
        let kind: HTTPClientError.Code
        switch code {
        case _ where isTooLarge:
            return HTTPClientError(.tooLarge, nothingSent: false, "the answer is longer than it may be")
        case CURLE_COULDNT_CONNECT where hasRefusedAddress:
            return HTTPClientError(.privateAddress, "the host has a private address, and those are refused")
        case CURLE_UNSUPPORTED_PROTOCOL where hasSent: kind = .notHTTP
        case CURLE_URL_MALFORMAT, CURLE_UNSUPPORTED_PROTOCOL: kind = .request
        case CURLE_COULDNT_RESOLVE_HOST: kind = .unknownName
        case CURLE_COULDNT_CONNECT: kind = .noConnection
        case CURLE_OPERATION_TIMEDOUT: kind = .timeout
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_USE_SSL_FAILED:
            kind = .notTrusted
        case CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_PARTIAL_FILE: kind = .connectionClosed
        case CURLE_WEIRD_SERVER_REPLY, CURLE_BAD_CONTENT_ENCODING: kind = .notHTTP
        default: kind = .other
        }
        return HTTPClientError(kind, nothingSent: !hasSent, text)
    }
}
