/// The part of Apple's module of this name that the SDK uses, as that declares it.
open class NSObject {
    public init() {}
}

public protocol NSObjectProtocol: AnyObject {}

extension NSObject: NSObjectProtocol {}
