import Glibc
import MeshNet
import MeshWire
import Synchronization
import Testing

/// An actor that lives on a loop, as a node does.
private actor Resident {
    nonisolated let loop: EventLoop
    var count = 0
    var received: [[UInt8]] = []
    let socket: UDPSocket
    private var batch = ReceiveBatch()

    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    init(_ loop: EventLoop) throws {
        self.loop = loop
        socket = try UDPSocket(bind: SocketAddress(127, 0, 0, 1, port: 0))
    }

    func increment() -> Int {
        count += 1
        return count
    }

    func isOnLoop() -> Bool { loop.isCurrent }
    func port() -> UInt16 { socket.port }
    func descriptor() -> Int32 { socket.descriptor }
    func bytes() -> [[UInt8]] { received }

    func watch(_ arrived: Signal, count wanted: Int) throws {
        _ = try loop.register(socket.descriptor) { [weak self] ready in
            // Enters the actor without a hop: this traps off the loop's thread.
            self?.assumeIsolated { resident in
                guard ready.isReadable else { return }
                resident.receive()
                if resident.received.count == wanted { arrived.raise() }
            }
        }
    }

    private func receive() {
        socket.receive(into: &batch)
        batch.forEach { bytes, _ in received.append(bytes.copied) }
    }
}

@Suite("The event loop")
struct EventLoopTests {
    @Test("an actor of the loop runs on its thread")
    func executor() async throws {
        let resident = try Resident(try EventLoop(name: "test-loop"))
        #expect(await resident.isOnLoop())
        #expect(!resident.loop.isCurrent)
    }

    @Test("calls from many tasks all run, one at a time")
    func manyCallers() async throws {
        let resident = try Resident(try EventLoop())
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask { for _ in 0..<100 { _ = await resident.increment() } }
            }
        }
        #expect(await resident.increment() == 5001)
    }

    @Test("a task that prefers the loop stays on its thread")
    func taskExecutor() async throws {
        let loop = try EventLoop()
        let isThere = await Task(executorPreference: loop) {
            await Task.yield()
            return loop.isCurrent
        }.value
        #expect(isThere)
    }

    @Test("a sleep by the loop's clock is as long as it says, and ends when cancelled")
    func sleeps() async throws {
        let loop = try EventLoop()
        let begin = loop.now
        await loop.sleep(for: .milliseconds(2))
        #expect(loop.now - begin >= .milliseconds(2))
        let long = Task { await loop.sleep(for: .seconds(3600)) }
        long.cancel()
        await long.value
        #expect(loop.now - begin < .seconds(3600))
    }

    @Test("readiness enters the actor without a hop")
    func readiness() async throws {
        let resident = try Resident(try EventLoop())
        let arrived = Signal()
        try await resident.watch(arrived, count: 3)
        let sender = try UDPSocket(bind: SocketAddress(127, 0, 0, 1, port: 0))
        let target = SocketAddress(127, 0, 0, 1, port: await resident.port())
        sender.send(DatagramBatch([[1], [2], [3]], to: target))
        #expect(arrived.wait())
        #expect(await resident.bytes() == [[1], [2], [3]])
        resident.loop.stop()
    }

    @Test("timers fire in the order of their deadlines, and not before")
    func timers() throws {
        let loop = try EventLoop()
        let fired = Mutex<[(Int, Instant)]>([])
        let done = Signal()
        let start = SystemClock.now()
        let delays = [30, 10, 20]
        for delay in delays {
            let timer = loop.makeTimer {
                let count = fired.withLock { fired in
                    fired.append((delay, SystemClock.now()))
                    return fired.count
                }
                if count == 3 { done.raise() }
            }
            loop.arm(timer, at: start + .milliseconds(delay))
        }
        #expect(done.wait())
        let order = fired.withLock { $0 }
        #expect(order.map(\.0) == [10, 20, 30])
        for (delay, instant) in order { #expect(instant - start >= .milliseconds(delay)) }
    }

    @Test("a timer armed anew takes the new deadline; disarmed it does not fire")
    func rearm() throws {
        let loop = try EventLoop()
        let done = Signal()
        let wrong = Atomic(false)
        let disarmed = loop.makeTimer { wrong.store(true, ordering: .relaxed) }
        let moved = loop.makeTimer { done.raise() }
        let start = SystemClock.now()
        loop.arm(disarmed, at: start + .milliseconds(5))
        loop.arm(moved, at: start + .seconds(3600))
        loop.arm(disarmed, at: nil)
        loop.arm(moved, at: start + .milliseconds(30))
        #expect(done.wait())
        let isWrong = wrong.load(ordering: .relaxed)
        #expect(!isWrong)
        // A deadline of the past fires at once, again and again if armed again.
        loop.arm(moved, at: .zero)
        #expect(done.wait())
    }

    @Test("the turn's handler runs after the jobs of its turn")
    func turnHandler() async throws {
        let resident = try Resident(try EventLoop())
        let turns = Atomic(0)
        let first = Signal()
        let handler = resident.loop.addTurnHandler {
            if turns.add(1, ordering: .relaxed).newValue == 1 { first.raise() }
        }
        _ = await resident.increment()
        #expect(first.wait())
        resident.loop.remove(handler)
    }

    @Test("after stop the handlers are gone and calls still return")
    func stop() async throws {
        final class Held: Sendable {}
        let resident = try Resident(try EventLoop())
        weak var weakly: Held?
        do {
            let held = Held()
            weakly = held
            _ = resident.loop.addTurnHandler { _ = held }
            _ = resident.loop.makeTimer { _ = held }
            _ = try await register(resident, held)
        }
        resident.loop.stop()
        #expect(await resident.increment() == 1)
        // The turn in which stop came may hold its copy of the handlers until it ends.
        #expect(await resident.increment() == 2)
        #expect(weakly == nil)
    }

    private func register(_ resident: Resident, _ held: some AnyObject & Sendable) async throws {
        _ = try resident.loop.register(await resident.descriptor()) { _ in _ = held }
    }

    @Test("the thread bears the loop's name and ends with the loop")
    func threadEnds() async throws {
        let name = "loop-\(getpid() % 10_000)"
        do {
            let resident = try Resident(try EventLoop(name: name))
            #expect(await resident.isOnLoop())
            #expect(threads(named: name) == 1)
        }
        let deadline = SystemClock.now() + .seconds(5)
        while threads(named: name) > 0, SystemClock.now() < deadline { await Task.yield() }
        #expect(threads(named: name) == 0)
    }

    private func threads(named name: String) -> Int {
        guard let directory = opendir("/proc/self/task") else { return -1 }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            let thread = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            guard let file = fopen("/proc/self/task/\(thread)/comm", "r") else { continue }
            defer { fclose(file) }
            var text = [CChar](repeating: 0, count: 32)
            guard fgets(&text, 32, file) != nil else { continue }
            let line = String(
                decoding: text.prefix { $0 != 0 && $0 != 10 }.map { UInt8(bitPattern: $0) },
                as: UTF8.self
            )
            count += line == name ? 1 : 0
        }
        return count
    }

    @Test("a descriptor watched twice is refused")
    func twice() throws {
        let loop = try EventLoop()
        let socket = try UDPSocket(bind: SocketAddress(127, 0, 0, 1, port: 0))
        let registration = try loop.register(socket.descriptor) { _ in }
        let error = #expect(throws: SystemError.self) {
            try loop.register(socket.descriptor) { _ in }
        }
        #expect(error?.call == "epoll_ctl")
        loop.remove(registration)
        let again = try loop.register(socket.descriptor) { _ in }
        loop.remove(again)
    }
}
