/// The part of Apple's module of this name that the SDK uses, as that declares it. Each requirement of a delegate is
/// optional there; here it is none, so that a method that is written otherwise is found.
@_exported import ObjectiveC
@_exported import Security

public protocol LocalizedError: Error {
    var errorDescription: String? { get }
}

extension Error {
    public var localizedDescription: String { "" }
}

public struct URL: Sendable {
    public init?(string: String) {}
    public init(fileURLWithPath path: String) {}
}

public typealias TimeInterval = Double

public struct URLRequest: Sendable {
    public var httpMethod: String?
    public var timeoutInterval: TimeInterval {
        get { 0 }
        set {}
    }
    public init(url: URL) {}
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {}
}

public struct URLError: Error {
    public struct Code: Hashable, Sendable {
        public static var cancelled: Code { Code() }
    }

    public var code: Code { Code() }
}

open class URLResponse: NSObject, @unchecked Sendable {}

open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    open var statusCode: Int { 0 }
}

open class OperationQueue: NSObject, @unchecked Sendable {
    open var maxConcurrentOperationCount = 0
}

open class URLSessionConfiguration: NSObject, @unchecked Sendable {
    open class var ephemeral: URLSessionConfiguration { URLSessionConfiguration() }
    open var timeoutIntervalForRequest = 0.0
}

open class URLSession: NSObject, @unchecked Sendable {
    public enum AuthChallengeDisposition: Int, Sendable {
        case useCredential, performDefaultHandling, cancelAuthenticationChallenge, rejectProtectionSpace
    }

    public init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?,
        delegateQueue queue: OperationQueue?
    ) {}

    open func webSocketTask(with url: URL, protocols: [String]) -> URLSessionWebSocketTask {
        URLSessionWebSocketTask()
    }

    open func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        URLSessionUploadTask()
    }

    open func finishTasksAndInvalidate() {}
}

open class URLSessionTask: NSObject, @unchecked Sendable {
    open var response: URLResponse? { nil }
    open func resume() {}
    open func cancel() {}
}

open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

open class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}

open class URLSessionWebSocketTask: URLSessionTask, @unchecked Sendable {
    public enum CloseCode: Int, Sendable {
        case invalid = 0
        case normalClosure = 1000
        case noStatusReceived = 1005
    }

    @nonexhaustive public enum Message: Sendable {
        case data(Data)
        case string(String)
    }

    open var maximumMessageSize = 0

    open func cancel(with closeCode: CloseCode, reason: Data?) {}
    open func send(_ message: Message, completionHandler: @escaping @Sendable ((any Error)?) -> Void) {}
    open func receive(completionHandler: @escaping @Sendable (Result<Message, any Error>) -> Void) {}
}

open class URLProtectionSpace: NSObject, @unchecked Sendable {
    open var authenticationMethod: String { "" }
    open var serverTrust: SecTrust? { nil }
}

public let NSURLAuthenticationMethodServerTrust = ""

open class URLAuthenticationChallenge: NSObject, @unchecked Sendable {
    open var protectionSpace: URLProtectionSpace { URLProtectionSpace() }
}

open class URLCredential: NSObject, @unchecked Sendable {
    public convenience init(trust: SecTrust) { self.init() }
}

public protocol URLSessionDelegate: NSObjectProtocol, Sendable {
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)
}

public protocol URLSessionTaskDelegate: URLSessionDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

public protocol URLSessionWebSocketDelegate: URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask, didOpenWithProtocol protocol: String?)
    func urlSession(
        _ session: URLSession, webSocketTask: URLSessionWebSocketTask,
        didCloseWith closeCode: URLSessionWebSocketTask.CloseCode, reason: Data?)
}

public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
    /// Apple has it in `URLSessionTaskDelegate`. WebSockets have no use for it.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData sent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64)
}
