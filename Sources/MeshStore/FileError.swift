import CLinux

/// A call on a file that the kernel refused.
package struct FileError: Error, Hashable, Sendable {
    /// The C call, as in `man 2`.
    package var call: String
    /// The `errno` it left.
    package var code: Int32
    /// The file or directory.
    package var path: String

    package init(call: String, code: Int32, path: String) {
        self.call = call
        self.code = code
        self.path = path
    }
}

extension FileError: CustomStringConvertible {
    /// What, where and what the system says, as in `cannot open '/x': Permission denied`.
    package var description: String { "\(call) of '\(path)': \(errorText(code))" }
}

extension FileError {
    /// The few values of `errno` this module tells apart (asm-generic/errno.h).
    enum Code {
        static let noEntry: Int32 = 2
        static let wouldBlock: Int32 = 11
        static let exists: Int32 = 17
        static let notDirectory: Int32 = 20
        static let isDirectory: Int32 = 21
        static let tooManyLinks: Int32 = 40
    }
}

/// The value of a call of `CLinux`, which answers a negated `errno` when it fails.
@discardableResult
func checked<Value: SignedInteger>(
    _ call: String,
    _ path: String,
    _ value: Value
) throws(FileError) -> Value {
    guard value >= 0 else {
        throw FileError(call: call, code: Int32(truncatingIfNeeded: -value), path: path)
    }
    return value
}
