/// What the SDK uses of Apple's module of this name, as that declares it.
open class NSObject {
    public init() {}
}

public protocol NSObjectProtocol: AnyObject {}

extension NSObject: NSObjectProtocol {}
