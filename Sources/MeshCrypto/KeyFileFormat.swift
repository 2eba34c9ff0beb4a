import MeshWire

/// The bytes of a key file, 64 in all (`10-security.md` §9).
///
/// ```
/// 0  "huddle/1" | 8  01 | 9  0 x 7 | 16  seed 32 | 48  check 16 = H16("huddle/1 key file", bytes 0..<48)
/// ```
package enum KeyFileFormat {
    /// Bytes of a key file.
    package static let byteCount = 64

    /// The file of `identity`.
    package static func encode(_ identity: Identity) -> SecretBytes {
        var file = SecretBytes(count: byteCount)
        let seed = identity.seed
        file.write(head.raw, at: 0)
        file.write(seed.bytes, at: 16)
        file.write(Hash.digest16(.keyFile, file.bytes.extracting(0..<48)).raw, at: 48)
        return file
    }

    /// The identity of a file; nil if length, head or check are wrong.
    package static func decode(_ file: RawSpan) -> Identity? {
        guard file.byteCount == byteCount,
            Sodium.isEqual(file.extracting(0..<16), head.raw),
            Sodium.isEqual(
                file.extracting(48..<64),
                Hash.digest16(.keyFile, file.extracting(0..<48)).raw
            )
        else { return nil }
        return Identity(seed: file.extracting(16..<48))
    }

    private static let head = Array("huddle/1".utf8) + [1, 0, 0, 0, 0, 0, 0, 0]
}
