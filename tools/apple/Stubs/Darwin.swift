/// The part of Apple's module of this name that the SDK uses, as that declares it.
public struct pthread_mutex_t {
    public init() {}
}

public struct pthread_mutexattr_t {
    public init() {}
}

public func pthread_mutex_init(
    _ mutex: UnsafeMutablePointer<pthread_mutex_t>!, _ attributes: UnsafePointer<pthread_mutexattr_t>?
) -> Int32 { 0 }
@discardableResult
public func pthread_mutex_destroy(_ mutex: UnsafeMutablePointer<pthread_mutex_t>!) -> Int32 { 0 }
@discardableResult
public func pthread_mutex_lock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>!) -> Int32 { 0 }
@discardableResult
public func pthread_mutex_unlock(_ mutex: UnsafeMutablePointer<pthread_mutex_t>!) -> Int32 { 0 }

public struct clockid_t: Sendable {
    public init() {}
}

/// A constant of C's.
public let CLOCK_MONOTONIC_RAW = clockid_t()

public struct timespec {
    public var tv_sec = 0
    public var tv_nsec = 0

    public init() {}
}

@discardableResult
public func clock_gettime(_ clock: clockid_t, _ time: UnsafeMutablePointer<timespec>!) -> Int32 { 0 }
