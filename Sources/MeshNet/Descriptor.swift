import CLinux

/// An open file descriptor with one owner; closed when it dies.
package struct Descriptor: ~Copyable, Sendable {
    /// The number the kernel knows it by.
    package let number: Int32

    /// Takes over the descriptor a `CLinux` call opened.
    init(_ call: String, _ value: Int32) throws(SystemError) {
        number = try checked(call, value)
    }

    deinit {
        // Nothing can be done about a failure, and Linux closes the descriptor anyway.
        _ = linux_close(number)
    }
}
