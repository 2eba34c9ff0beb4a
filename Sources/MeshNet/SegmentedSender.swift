import CLinux
import MeshWire

/// Turns a batch into the fewest sends: runs to one destination become one `UDP_SEGMENT` send.
///
/// A run is a row of datagrams that lie back to back, go to one address and have one size, but for
/// the last, which may be shorter. The kernel's refusal (`EIO` where the device cannot, quinn#1128;
/// `EINVAL`, quinn#2399) costs no datagram: the run goes out again piece by piece.
struct SegmentedSender {
    typealias Send = (_ storage: [UInt8], _ messages: ArraySlice<linux_message>) -> Int32

    private(set) var isSegmenting: Bool
    private(set) var statistics = UDPStatistics()
    private let family: AddressFamily
    private var messages: [linux_message] = []

    /// Segments of one send: what every kernel that has `UDP_SEGMENT` takes (UDP_MAX_SEGMENTS).
    private static let segments = 64
    /// Bytes of one send: the largest UDP payload over IPv4.
    private static let runBytes = Limits.datagramCeilingBytes

    init(family: AddressFamily, isSegmenting: Bool) {
        self.family = family
        self.isSegmenting = isSegmenting
    }

    /// Sends the entries that go to addresses of this family; `send` is `sendmmsg` or its double.
    mutating func send(
        _ batch: DatagramBatch,
        entries: ArraySlice<DatagramBatch.Entry>,
        by send: Send
    ) {
        messages.removeAll(keepingCapacity: true)
        gather(entries)
        flush(batch.storage, by: send)
    }

    /// Makes messages of the entries, several entries of one run into one message.
    private mutating func gather(_ entries: ArraySlice<DatagramBatch.Entry>) {
        // Whether the last message may still grow: all its datagrams have the same size so far.
        var isOpen = false
        for entry in entries {
            guard case .address(let address) = entry.destination, address.family == family else {
                continue
            }
            if isOpen, isSegmenting, var run = messages.last, fits(entry, address, behind: run) {
                if run.segment_bytes == 0 { run.segment_bytes = run.byte_count }
                run.byte_count += Int32(entry.byteCount)
                isOpen = entry.byteCount == Int(run.segment_bytes)
                messages[messages.count - 1] = run
            } else {
                messages.append(
                    linux_message(
                        to: address.raw,
                        offset: Int64(entry.offset),
                        byte_count: Int32(clamping: entry.byteCount),
                        segment_bytes: 0
                    )
                )
                isOpen = entry.byteCount > 0
            }
        }
    }

    private func fits(
        _ entry: DatagramBatch.Entry,
        _ address: SocketAddress,
        behind run: linux_message
    ) -> Bool {
        let segment = run.segment_bytes == 0 ? Int(run.byte_count) : Int(run.segment_bytes)
        let end = Int(run.offset) + Int(run.byte_count)
        return SocketAddress(run.to) == address && entry.offset == end
            && entry.byteCount > 0 && entry.byteCount <= segment
            && Int(run.byte_count) + entry.byteCount <= Self.runBytes
            && Int(run.byte_count) / segment < Self.segments
    }

    private mutating func flush(_ storage: [UInt8], by send: Send) {
        var next = 0
        while next < messages.count {
            let end = min(messages.count, next + Int(LINUX_SEND_MESSAGES))
            let result = send(storage, messages[next..<end])
            statistics.sendCalls += 1
            guard result <= 0 else {
                for message in messages[next..<next + Int(result)] { countSent(message) }
                next += Int(result)
                continue
            }
            // The first message of the call was refused; the others were not looked at.
            let refused = messages[next]
            next += 1
            if refused.segment_bytes > 0, isRefusalToSegment(-result) {
                sendPlain(refused, code: -result, storage, by: send)
                if !isSegmenting { splitRest(from: next) }
            } else {
                drop(count(refused), code: -result)
            }
        }
    }

    private func isRefusalToSegment(_ code: Int32) -> Bool {
        code == SystemError.Code.input || code == SystemError.Code.invalid
            || code == SystemError.Code.messageSize
    }

    /// Sends a refused run piece by piece, and decides whether segmentation was to blame.
    private mutating func sendPlain(
        _ run: linux_message,
        code: Int32,
        _ storage: [UInt8],
        by send: Send
    ) {
        var isFullSegmentOut = false
        for piece in pieces(of: run) {
            let result = send(storage, [piece])
            statistics.sendCalls += 1
            if result > 0 {
                countSent(piece)
                if piece.byte_count == run.segment_bytes { isFullSegmentOut = true }
            } else {
                drop(1, code: -result)
            }
        }
        // `EINVAL` also says that a segment is larger than the link: then the pieces fail as well,
        // with `EMSGSIZE`, and the socket may go on to segment smaller ones.
        guard isFullSegmentOut || code == SystemError.Code.input else { return }
        isSegmenting = false
        statistics.segmentFallbacks += 1
    }

    private mutating func splitRest(from start: Int) {
        let rest = messages[start...].flatMap { pieces(of: $0) }
        messages.replaceSubrange(start..., with: rest)
    }

    private func pieces(of run: linux_message) -> [linux_message] {
        guard run.segment_bytes > 0 else { return [run] }
        let step = Int(run.segment_bytes)
        return stride(from: 0, to: Int(run.byte_count), by: step).map { start in
            linux_message(
                to: run.to,
                offset: run.offset + Int64(start),
                byte_count: Int32(min(step, Int(run.byte_count) - start)),
                segment_bytes: 0
            )
        }
    }

    private func count(_ message: linux_message) -> Int {
        guard message.segment_bytes > 0 else { return 1 }
        let segment = Int(message.segment_bytes)
        return (Int(message.byte_count) + segment - 1) / segment
    }

    private mutating func countSent(_ message: linux_message) {
        statistics.sent += count(message)
        statistics.sentBytes += Int(message.byte_count)
        if message.segment_bytes > 0 { statistics.segmentedSends += 1 }
    }

    private mutating func drop(_ datagrams: Int, code: Int32) {
        switch code {
        case SystemError.Code.again, SystemError.Code.noBuffers: statistics.droppedFull += datagrams
        case SystemError.Code.messageSize: statistics.droppedTooLarge += datagrams
        default: statistics.droppedRefused += datagrams
        }
    }
}
