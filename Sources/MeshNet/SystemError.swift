import CLinux

/// A system call that the kernel refused.
package struct SystemError: Error, Hashable, Sendable {
    /// The C call, as in `man 2`.
    package var call: String
    /// The `errno` it left.
    package var code: Int32

    package init(call: String, code: Int32) {
        self.call = call
        self.code = code
    }

    /// Whether another socket has the address and port (`EADDRINUSE`).
    package var isAddressInUse: Bool { code == Code.addressInUse }
    /// Whether this process may not (`EPERM`).
    package var isForbidden: Bool { code == Code.notPermitted }
}

extension SystemError: CustomStringConvertible {
    /// The call and what the system says, as in `bind: Address already in use`.
    package var description: String { "\(call): \(errorText(code))" }
}

extension SystemError {
    /// The few values of `errno` this module tells apart (asm-generic/errno.h).
    enum Code {
        static let notPermitted: Int32 = 1
        static let noEntry: Int32 = 2
        static let input: Int32 = 5
        static let again: Int32 = 11
        static let exists: Int32 = 17
        static let invalid: Int32 = 22
        static let messageSize: Int32 = 90
        static let familyUnsupported: Int32 = 97
        static let addressInUse: Int32 = 98
        static let addressUnavailable: Int32 = 99
        static let connectionAborted: Int32 = 103
        static let noBuffers: Int32 = 105
        static let connectionRefused: Int32 = 111
    }
}

/// The value of a call of `CLinux`, which answers a negated `errno` when it fails.
@discardableResult
func checked<Value: SignedInteger>(_ call: String, _ value: Value) throws(SystemError) -> Value {
    guard value >= 0 else { throw SystemError(call: call, code: Int32(truncatingIfNeeded: -value)) }
    return value
}
