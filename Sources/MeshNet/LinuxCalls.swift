// The one file of this module that hands memory to C; everything else calls it safely.

import CLinux
import Glibc
package import MeshWire

/// The system's text for an `errno`.
func errorText(_ code: Int32) -> String {
    let text = unsafe [UInt8](unsafeUninitializedCapacity: 128) { buffer, count in
        let length = unsafe buffer.withMemoryRebound(to: CChar.self) { room in
            unsafe room.baseAddress.map { unsafe linux_error_text(code, $0, 128) } ?? 0
        }
        count = Int(length)
    }
    return String(decoding: text, as: UTF8.self)
}

/// Starts a detached thread called `name` that runs `body`.
func startThread(name: String, _ body: @escaping @Sendable () -> Void) throws(SystemError) {
    final class Start {
        let name: String
        let body: @Sendable () -> Void
        init(name: String, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }
    }
    let start = unsafe Unmanaged.passRetained(Start(name: name, body: body))
    var thread = pthread_t()
    let code = unsafe pthread_create(
        &thread,
        nil,
        { pointer in
            guard let pointer = unsafe pointer else { return nil }
            // Retained above for this one moment.
            let start = unsafe Unmanaged<Start>.fromOpaque(pointer).takeRetainedValue()
            unsafe linux_thread_name(start.name)
            start.body()
            return nil
        },
        start.toOpaque()
    )
    guard code == 0 else {
        unsafe start.release()
        throw SystemError(call: "pthread_create", code: code)
    }
    pthread_detach(thread)
}

/// The calling thread, for comparison only.
package func currentThread() -> UInt {
    UInt(pthread_self())
}

/// Waits for events of `epoll` until `timeout` (milliseconds, negative for ever).
func waitForEvents(
    _ epoll: Int32,
    into events: inout [linux_event],
    timeout: Int32
) throws(SystemError) -> Int {
    let capacity = Int32(events.count)
    let count = unsafe events.withUnsafeMutableBufferPointer { buffer in
        unsafe linux_epoll_wait(epoll, buffer.baseAddress, capacity, timeout)
    }
    return Int(try checked("epoll_wait", count))
}

/// Receives messages into the slots of `storage`; answers their number or a negated `errno`.
func receiveMessages(
    _ socket: Int32,
    storage: inout [UInt8],
    slotBytes: Int,
    slots: Int,
    into received: inout [linux_received]
) -> Int32 {
    precondition(storage.count >= slotBytes * slots, "slots lie inside: \(storage.count)")
    precondition(received.count >= slots, "a slot has an entry: \(received.count)")
    return unsafe storage.withUnsafeMutableBufferPointer { bytes in
        unsafe received.withUnsafeMutableBufferPointer { entries in
            unsafe linux_receive(
                socket,
                bytes.baseAddress,
                Int32(slotBytes),
                Int32(slots),
                entries.baseAddress
            )
        }
    }
}

/// Sends messages whose bytes lie in `storage`; answers how many went out or a negated `errno`.
func sendMessages(
    _ socket: Int32,
    isIPv6: Bool,
    storage: [UInt8],
    messages: ArraySlice<linux_message>
) -> Int32 {
    for message in messages {
        let end = Int(message.offset) + Int(message.byte_count)
        precondition(message.offset >= 0, "a message starts inside: \(message.offset)")
        precondition(end <= storage.count, "a message ends inside: \(end) of \(storage.count)")
    }
    return unsafe storage.withUnsafeBufferPointer { bytes in
        unsafe messages.withUnsafeBufferPointer { list in
            unsafe linux_send(
                socket,
                isIPv6,
                bytes.baseAddress,
                list.baseAddress,
                Int32(list.count)
            )
        }
    }
}

/// The addresses of the machine's interfaces with their interfaces' names.
func interfaceAddresses() throws(SystemError) -> [(name: String, raw: linux_interface_address)] {
    var capacity = 64
    while true {
        var count: Int32 = 0
        let list = unsafe [linux_interface_address](
            unsafeUninitializedCapacity: capacity
        ) { buffer, used in
            count = unsafe linux_interfaces(buffer.baseAddress, Int32(capacity))
            used = min(max(0, Int(count)), capacity)
        }
        try checked("getifaddrs", count)
        guard Int(count) > capacity else {
            return list.map { raw in
                let name = unsafe withUnsafeBytes(of: raw.name) { bytes in
                    unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
                }
                return (name, raw)
            }
        }
        // Interfaces appeared since the count was made.
        capacity = Int(count) + 16
    }
}

/// Appends up to `limit` bytes of `descriptor` to `bytes`; answers their number, 0 at the end, or
/// a negated `errno`.
func readBytes(_ descriptor: Int32, limit: Int, appendingTo bytes: inout [UInt8]) -> Int {
    var result: Int64 = 0
    let chunk = unsafe [UInt8](unsafeUninitializedCapacity: limit) { buffer, used in
        result = unsafe linux_read(descriptor, buffer.baseAddress, Int64(limit))
        used = max(0, Int(result))
    }
    bytes.append(contentsOf: chunk)
    return Int(result)
}

/// Writes bytes to a socket; answers how many it took or a negated `errno`.
func writeBytes(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Int {
    guard !bytes.isEmpty else { return 0 }
    return unsafe bytes.withUnsafeBufferPointer { buffer in
        unsafe Int(linux_socket_write(descriptor, buffer.baseAddress, Int64(buffer.count)))
    }
}

/// `socket`, `bind` and `listen` at a path.
func listenUnix(_ path: String) -> Int32 { unsafe linux_unix_listen(path) }
/// `socket` and `connect` to a path.
func connectUnix(_ path: String) -> Int32 { unsafe linux_unix_connect(path) }
/// `unlink`.
func unlink(_ path: String) -> Int32 { unsafe linux_unlink(Int32(LINUX_AT_CWD), path) }
/// `mkdir` with mode 0700.
func makeDirectory(_ path: String) -> Int32 {
    unsafe linux_make_directory(Int32(LINUX_AT_CWD), path)
}
/// `open` of a directory.
func openDirectory(_ path: String) -> Int32 {
    unsafe linux_open_directory(Int32(LINUX_AT_CWD), path)
}

/// This process's id.
func processID() -> Int32 { getpid() }
/// A blocking TCP connection.
func connectTCP(_ address: linux_address, congestion: String, timeout: Duration) -> Int32 {
    unsafe linux_tcp_connect(address, congestion, timeout.wholeNanoseconds)
}
/// A socket for the frames of an interface.
func openPackets(_ interface: String) -> Int32 { unsafe linux_packet_socket(interface) }
/// The root queue of an interface.
func queueStatus(_ socket: Int32, of interface: String) throws(SystemError) -> linux_queue {
    var queue = linux_queue()
    try checked("netlink", unsafe linux_queue_status(socket, interface, &queue))
    return queue
}

/// Waits until one of up to 128 descriptors has something to read or `deadline` comes; which ones have.
package func waitReadable(_ descriptors: [Int32], until deadline: Instant?) -> [Bool] {
    var ready = [Bool](repeating: false, count: descriptors.count)
    let time = deadline.map { max(0, ($0 - SystemClock.now()).wholeNanoseconds) } ?? -1
    unsafe descriptors.withUnsafeBufferPointer { list in
        unsafe ready.withUnsafeMutableBufferPointer { flags in
            _ = unsafe linux_wait(list.baseAddress, flags.baseAddress, Int32(list.count), time)
        }
    }
    return ready
}

/// `fstat`.
func status(_ descriptor: Int32) throws(SystemError) -> linux_status {
    var status = linux_status()
    try checked("fstat", unsafe linux_status_of(descriptor, &status))
    return status
}

/// `lstat`.
func status(_ path: String) throws(SystemError) -> linux_status {
    var status = linux_status()
    try checked("lstat", unsafe linux_status_at(Int32(LINUX_AT_CWD), path, &status))
    return status
}
