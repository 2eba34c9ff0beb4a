import Foundation
import MeshWire
import Testing

@testable import MeshCrypto

/// Noise against an implementation that shares no line with ours: `noiseprotocol` from PyPI.
///
/// The program `Tests/CrossCheck/noise_peer.py` plays the other side over its standard input and output, a line of
/// hex a message, with keys of its own choice.
@Suite("Noise cross-check — an independent implementation in Python")
struct CrossCheckTests {
    static let script = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("CrossCheck/noise_peer.py")

    /// `$HUDDLE_PYTHON`, or `python3`.
    static let python = ProcessInfo.processInfo.environment["HUDDLE_PYTHON"] ?? "python3"

    /// Whether Python and the package are here; says so loudly if not.
    static let isAvailable: Bool = {
        let output = try? run(["-c", "import noise.connection; print('here')"], input: "")
        if output == ["here"] { return true }
        print(
            "SKIPPED: Noise cross-check; `\(python) -m pip install noiseprotocol` or set HUDDLE_PYTHON"
        )
        return false
    }()

    static func run(_ arguments: [String], input: String) throws -> [String] {
        let peer = try Peer(arguments)
        peer.send(input)
        return peer.rest()
    }

    /// A child process spoken to in lines.
    final class Peer {
        private let process = Process()
        private let input = Pipe()
        private let output = Pipe()

        init(_ arguments: [String]) throws {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = [CrossCheckTests.python] + arguments
            process.standardInput = input
            process.standardOutput = output
            process.standardError = FileHandle.nullDevice
            try process.run()
        }

        func send(_ line: String) {
            input.fileHandleForWriting.write(Data((line + "\n").utf8))
        }

        /// The next line, empty at the end.
        func line() -> String {
            var bytes: [UInt8] = []
            while let byte = output.fileHandleForReading.readData(ofLength: 1).first,
                byte != UInt8(ascii: "\n")
            {
                bytes.append(byte)
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        func rest() -> [String] {
            try? input.fileHandleForWriting.close()
            let data = output.fileHandleForReading.readDataToEndOfFile()
            process.waitUntilExit()
            return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
        }
    }

    @Test(
        "a whole XXpsk3 handshake and its transport keys agree in either role",
        .enabled(if: isAvailable, "Python or its package noiseprotocol is not there"),
        arguments: [HandshakeRole.initiator, .responder]
    )
    func agreement(role: HandshakeRole) throws {
        var source = SystemSecrets()
        let psk = source.bytes(32)
        let prologue = source.bytes(74)
        var ours = Handshake(
            role: role,
            prologue: prologue,
            keys: HandshakeKeys(from: &source),
            psk: Secret(psk)
        )
        let peer = try Peer([
            Self.script.path, role == .initiator ? "responder" : "initiator",
            hexadecimal(psk), hexadecimal(prologue),
        ])
        for number in 0..<3 {
            if number.isMultiple(of: 2) == (role == .initiator) {
                let message = try ours.write(fill(UInt8(number), 80))
                peer.send(hexadecimal(message))
                #expect(peer.line() == hexadecimal(fill(UInt8(number), 80)))
            } else {
                let message = try hex(peer.line())
                let payload = try ours.read(bytes: message)
                #expect(payload == fill(UInt8(number) | 0x80, 40))
            }
        }
        #expect(peer.line() == hexadecimal(ours.hash))
        let keys = ours.split()
        let isInitiator = role == .initiator
        let outbound =
            isInitiator
            ? keys.initiatorToResponder.bytes.copied : keys.responderToInitiator.bytes.copied
        let inbound =
            isInitiator
            ? keys.responderToInitiator.bytes.copied : keys.initiatorToResponder.bytes.copied
        let nonce = SymmetricState.nonce(0)
        let text = Array("transport".utf8)
        let sealed = Sodium.seal(text.raw, data: RawSpan(), nonce: nonce.raw, key: outbound.raw)
        peer.send(hexadecimal(sealed ?? []))
        #expect(peer.line() == hexadecimal(text))
        let back = try hex(peer.line())
        let opened = Sodium.open(back.raw, data: RawSpan(), nonce: nonce.raw, key: inbound.raw)
        #expect(opened == Array("and back".utf8))
        _ = peer.rest()
    }
}
