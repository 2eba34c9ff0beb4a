import Glibc
import MeshNet
import MeshWire

/// Waits until one of the descriptors is readable; answers whether one is within 2 s.
func waitReadable(_ descriptors: Int32..., milliseconds: Int32 = 2000) -> Bool {
    var list = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    return poll(&list, nfds_t(list.count), milliseconds) > 0
}

/// Receives from `socket` until `count` datagrams came or none comes for 2 s.
func receive(_ count: Int, from socket: UDPSocket) -> [(bytes: [UInt8], from: SocketAddress)] {
    var batch = ReceiveBatch()
    var result: [(bytes: [UInt8], from: SocketAddress)] = []
    while result.count < count, waitReadable(socket.descriptor) {
        socket.receive(into: &batch)
        batch.forEach { bytes, from in result.append((bytes.copied, from)) }
    }
    return result
}

/// A directory of its own under the temporary one; removed by ``remove()``.
struct Scratch {
    let path: String

    init() {
        var template = Array("/tmp/huddle-test-XXXXXX".utf8CString)
        path = template.withUnsafeMutableBufferPointer { buffer in
            String(cString: mkdtemp(buffer.baseAddress!))
        }
    }

    func remove() {
        for name in names() { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    func names() -> [String] {
        guard let directory = opendir(path) else { return [] }
        defer { closedir(directory) }
        var names: [String] = []
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names.sorted()
    }
}

extension DatagramBatch {
    /// A batch of datagrams to one address.
    init(_ datagrams: [[UInt8]], to address: SocketAddress) {
        self.init()
        for datagram in datagrams { append(datagram, to: .address(address)) }
    }
}

/// Distinct bytes: the datagram's number, then a pattern of it.
func pattern(_ number: Int, byteCount: Int) -> [UInt8] {
    (0..<byteCount).map { UInt8(truncatingIfNeeded: number &* 31 &+ $0) }
}

/// A one-shot signal between threads that a test can wait for.
final class Signal: @unchecked Sendable {
    // Sendable: the semaphore does the synchronisation.
    private let semaphore = UnsafeMutablePointer<sem_t>.allocate(capacity: 1)

    init() { sem_init(semaphore, 0, 0) }

    deinit {
        sem_destroy(semaphore)
        semaphore.deallocate()
    }

    func raise() { sem_post(semaphore) }

    /// Whether the signal came within 5 s.
    func wait() -> Bool {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        time.tv_sec += 5
        return sem_timedwait(semaphore, &time) == 0
    }
}
