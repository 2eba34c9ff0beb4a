import Glibc
import MeshNet
import MeshWire
import Testing

@Suite("Unix sockets — 10-security.md §9")
struct UnixSocketTests {
    static func mode(_ path: String) -> UInt32 {
        var status = stat()
        return stat(path, &status) == 0 ? status.st_mode & 0o777 : 0
    }

    /// Accepts the connection that waits or comes within 2 s.
    static func accept(_ listener: UnixListener) throws -> UnixConnection {
        #expect(waitReadable(listener.descriptor))
        return try #require(try listener.accept())
    }

    @Test("lines go both ways, whole, however they were cut")
    func lines() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let listener = try UnixListener(path: "\(scratch.path)/node.sock")
        #expect(try listener.accept() == nil)
        let client = try UnixClient(path: listener.path)
        let server = try Self.accept(listener)
        #expect(server.process == getpid())
        #expect(client.process == getpid())

        try client.send(line: "one".utf8)
        try client.send(line: "".utf8)
        try client.send(line: "three\ndrei".utf8)
        #expect(waitReadable(server.descriptor))
        let received = server.receive()
        #expect(!received.isClosed)
        let texts = received.lines.map { String(decoding: $0, as: UTF8.self) }
        #expect(texts == ["one", "", "three", "drei"])

        #expect(server.send(line: "answer".utf8))
        #expect(server.send(line: "more".utf8))
        #expect(try client.receiveLine(timeout: .seconds(2)) == Array("answer".utf8))
        #expect(try client.receiveLine(timeout: .seconds(2)) == Array("more".utf8))
        let error = #expect(throws: SystemError.self) {
            try client.receiveLine(timeout: .milliseconds(10))
        }
        #expect(error?.isTimeout == true)
    }

    @Test("the end of either side is seen by the other")
    func ends() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let listener = try UnixListener(path: "\(scratch.path)/node.sock")
        var client: UnixClient? = try UnixClient(path: listener.path)
        let server = try Self.accept(listener)
        try client?.send(line: "last".utf8)
        client = nil
        #expect(waitReadable(server.descriptor))
        let received = server.receive()
        #expect(received.lines == [Array("last".utf8)])
        #expect(received.isClosed)

        let second = try UnixClient(path: listener.path)
        do { _ = try Self.accept(listener) }
        #expect(try second.receiveLine(timeout: .seconds(2)) == nil)
    }

    @Test("a reader that falls behind waits in bounded memory, then is cut off")
    func slowReader() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let listener = try UnixListener(path: "\(scratch.path)/node.sock")
        let client = try UnixClient(path: listener.path)
        let server = try Self.accept(listener)
        let line = [UInt8](repeating: UInt8(ascii: "x"), count: 100_000)
        var sent = 0
        while sent < 100, server.send(line: line) { sent += 1 }
        #expect((20..<100).contains(sent))
        #expect(!server.wantsToWrite)
        #expect(try client.receiveLine(timeout: .seconds(2)) == line)
    }

    @Test("what waits goes out when the reader comes")
    func flush() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let listener = try UnixListener(path: "\(scratch.path)/node.sock")
        let client = try UnixClient(path: listener.path)
        let server = try Self.accept(listener)
        let line = [UInt8](repeating: UInt8(ascii: "y"), count: 900_000)
        #expect(server.send(line: line))
        #expect(server.send(line: line))
        #expect(server.wantsToWrite)
        // A blocking reader in a thread of its own would do the same; here we take turns.
        let loop = try EventLoop()
        let done = Signal()
        let descriptor = server.descriptor
        nonisolated(unsafe) let connection = server
        let registration = try loop.register(descriptor, readable: false, writable: true) { _ in
            connection.flush()
            if !connection.wantsToWrite { done.raise() }
        }
        #expect(try client.receiveLine(timeout: .seconds(2)) == line)
        #expect(try client.receiveLine(timeout: .seconds(2)) == line)
        #expect(done.wait())
        loop.remove(registration)
    }

    @Test("a line without end is refused at 1 MiB")
    func endlessLine() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let listener = try UnixListener(path: "\(scratch.path)/node.sock")
        let client = try UnixClient(path: listener.path)
        let server = try Self.accept(listener)
        var isClosed = false
        let part = [UInt8](repeating: 0, count: 50_000)
        let total = UnixConnection.lineBytes / part.count + 2
        for _ in 0..<total where !isClosed {
            // No line end: written below the line interface.
            _ = part.withUnsafeBytes { write(client.descriptor, $0.baseAddress, $0.count) }
            let received = server.receive()
            #expect(received.lines.isEmpty)
            isClosed = received.isClosed
        }
        #expect(isClosed)
        #expect(!server.send(line: "x".utf8))
    }

    @Test("socket 0600, directory made 0700, under umask 000 — S51")
    func modes() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        // The mask is the process's; whatever another test makes meanwhile sets its own mode.
        let old = umask(0)
        defer { umask(old) }
        let directory = "\(scratch.path)/run"
        let listener = try UnixListener(path: "\(directory)/node.sock")
        #expect(Self.mode(listener.path) == 0o600)
        #expect(Self.mode(directory) == 0o700)
        listener.close()
        #expect(Self.mode(listener.path) == 0)
        rmdir(directory)
    }

    @Test("a live socket is refused with its process; a dead one is replaced")
    func stale() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let path = "\(scratch.path)/node.sock"
        var first: UnixListener? = try UnixListener(path: path)
        let error = #expect(throws: UnixSocketError.self) { try UnixListener(path: path) }
        #expect(error == .inUse(path: path, process: getpid()))
        // A crash leaves the file: a bound socket that was closed without its file's removal.
        rename(path, path + ".kept")
        first = nil
        rename(path + ".kept", path)
        let dead = #expect(throws: SystemError.self) { try UnixClient(path: path) }
        #expect(dead?.isNobodyListening == true)
        let second = try UnixListener(path: path)
        _ = try UnixClient(path: path)
        #expect(first == nil)
        second.close()
        let gone = #expect(throws: SystemError.self) { try UnixClient(path: path) }
        #expect(gone?.isNobodyListening == true)
    }

    @Test("of several starts at once over a dead socket one wins and is reachable")
    func startRace() async throws {
        for _ in 0..<20 {
            let scratch = Scratch()
            defer { scratch.remove() }
            let path = "\(scratch.path)/node.sock"
            do {
                let first = try UnixListener(path: path)
                rename(path, path + ".kept")
                first.close()
                rename(path + ".kept", path)
            }
            let winners = await withTaskGroup(of: Held?.self) { group in
                for _ in 0..<4 {
                    group.addTask { (try? UnixListener(path: path)).map(Held.init) }
                }
                return await group.reduce(into: []) { $0 += $1.map { [$0] } ?? [] }
            }
            #expect(winners.count == 1)
            _ = try UnixClient(path: path)
        }
    }

    private struct Held: @unchecked Sendable {
        // Sendable: handed over once, then used by the test alone.
        let listener: UnixListener
    }

    @Test("a file in the way stays; a directory of others is refused")
    func refusals() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let path = "\(scratch.path)/node.sock"
        fclose(fopen(path, "w"))
        let error = #expect(throws: UnixSocketError.self) { try UnixListener(path: path) }
        #expect(error == .notSocket(path: path))
        #expect(scratch.names() == ["node.sock"])
        unlink(path)
        chmod(scratch.path, 0o755)
        let open = #expect(throws: UnixSocketError.self) { try UnixListener(path: path) }
        #expect(open == .directoryNotPrivate(path: scratch.path))
        let long = scratch.path + "/" + String(repeating: "x", count: 120)
        chmod(scratch.path, 0o700)
        #expect(throws: UnixSocketError.self) { try UnixListener(path: long) }
    }
}
