import CLinux
import MeshWire
import Testing

@testable import MeshNet

@Suite("Segmented sends and their fallback — quinn#1128, quinn#2399")
struct SegmentedSenderTests {
    /// A kernel that answers as it is told and keeps what went out.
    final class Kernel {
        var refusal: (linux_message) -> Int32
        var sent: [linux_message] = []
        var calls = 0

        init(refusal: @escaping (linux_message) -> Int32 = { _ in 0 }) {
            self.refusal = refusal
        }

        /// `sendmmsg`: the number before the first refused message, or its error.
        func send(_ storage: [UInt8], _ messages: ArraySlice<linux_message>) -> Int32 {
            calls += 1
            var count: Int32 = 0
            for message in messages.prefix(32) {
                let code = refusal(message)
                guard code == 0 else { return count == 0 ? -code : count }
                sent.append(message)
                count += 1
            }
            return count
        }

        /// The sizes of the datagrams as the wire would see them.
        var datagrams: [Int] {
            sent.flatMap { message -> [Int] in
                let total = Int(message.byte_count)
                let step = message.segment_bytes == 0 ? total : Int(message.segment_bytes)
                return stride(from: 0, to: total, by: step).map { min(step, total - $0) }
            }
        }
    }

    static let peer = SocketAddress(192, 0, 2, 1, port: 9)
    static let other = SocketAddress(192, 0, 2, 2, port: 9)

    static func batch(_ sizes: [Int], to address: SocketAddress = peer) -> DatagramBatch {
        DatagramBatch(sizes.map { [UInt8](repeating: 1, count: $0) }, to: address)
    }

    static func run(
        _ batch: DatagramBatch,
        _ kernel: Kernel,
        isSegmenting: Bool = true
    ) -> SegmentedSender {
        var sender = SegmentedSender(family: .ipv4, isSegmenting: isSegmenting)
        sender.send(batch, entries: batch.entries[...], by: kernel.send)
        return sender
    }

    struct Row: CustomTestStringConvertible, Sendable {
        var sizes: [Int]
        var runs: [Int]
        var because: String
        var testDescription: String { because }
    }
    static let rows = [
        Row(sizes: [100], runs: [100], because: "one datagram is a plain send"),
        Row(sizes: [100, 100, 100], runs: [300], because: "equal sizes are one run"),
        Row(sizes: [100, 100, 40, 100], runs: [240, 100], because: "a shorter one ends its run"),
        Row(sizes: [100, 200, 200], runs: [100, 400], because: "a longer one starts a run"),
        Row(
            sizes: Array(repeating: 10, count: 65),
            runs: [640, 10],
            because: "a run has 64 segments at most"
        ),
        Row(
            sizes: Array(repeating: 30_000, count: 3),
            runs: [60_000, 30_000],
            because: "a run has 65,507 bytes at most"
        ),
    ]

    @Test("datagrams are gathered into these runs", arguments: rows)
    func runs(row: Row) {
        let kernel = Kernel()
        let sender = Self.run(Self.batch(row.sizes), kernel)
        #expect(kernel.sent.map { Int($0.byte_count) } == row.runs)
        #expect(kernel.datagrams == row.sizes)
        #expect(sender.statistics.sent == row.sizes.count)
    }

    @Test("another destination between them keeps runs apart")
    func destinations() {
        var batch = DatagramBatch()
        for address in [Self.peer, Self.other, Self.peer] {
            batch.append([UInt8](repeating: 0, count: 50), to: .address(address))
        }
        let kernel = Kernel()
        _ = Self.run(batch, kernel)
        #expect(kernel.sent.map { SocketAddress($0.to) } == [Self.peer, Self.other, Self.peer])
    }

    @Test("a kernel that cannot segment costs no datagram and is asked once", arguments: [5, 22])
    func fallback(code: Int32) {
        let kernel = Kernel { $0.segment_bytes > 0 ? code : 0 }
        let sizes = Array(repeating: 100, count: 200) + [50] + Array(repeating: 70, count: 30)
        let sender = Self.run(Self.batch(sizes), kernel)
        #expect(kernel.datagrams == sizes)
        #expect(!sender.isSegmenting)
        #expect(sender.statistics.segmentFallbacks == 1)
        #expect(sender.statistics.sent == sizes.count)

        var again = sender
        let next = Self.batch([100, 100])
        kernel.sent = []
        again.send(next, entries: next.entries[...], by: kernel.send)
        #expect(kernel.sent.allSatisfy { $0.segment_bytes == 0 })
        #expect(kernel.sent.count == 2)
    }

    @Test("segments larger than the link do not end segmentation")
    func largeSegments() {
        let kernel = Kernel { message in
            if message.segment_bytes > 1472 { return 22 }
            return message.segment_bytes == 0 && message.byte_count > 1472 ? 90 : 0
        }
        let sizes = [4000, 4000, 1200, 1200]
        let sender = Self.run(Self.batch(sizes), kernel)
        #expect(kernel.datagrams == [1200, 1200])
        #expect(sender.isSegmenting)
        #expect(sender.statistics.droppedTooLarge == 2)
    }

    @Test("a full buffer is loss with a counter", arguments: [11, 105])
    func full(code: Int32) {
        var left = 2
        let kernel = Kernel { _ in
            left -= 1
            return left >= 0 ? 0 : code
        }
        let sender = Self.run(Self.batch([10, 20, 30, 40]), kernel)
        #expect(sender.statistics.sent == 2)
        #expect(sender.statistics.droppedFull == 2)
    }

    @Test("more messages than one call takes all go out in order")
    func manyMessages() {
        let kernel = Kernel()
        let sizes = Array(1...100)
        let sender = Self.run(Self.batch(sizes), kernel)
        #expect(kernel.datagrams == sizes)
        #expect(sender.statistics.sendCalls == 4)
    }
}
