package import MeshWire

/// Changes, drops, cuts or adds a few bytes, as a hostile or broken sender would.
///
/// At most three places; the same generator gives the same bytes.
package func mutate(_ bytes: inout [UInt8], using generator: inout SeededGenerator) {
    for _ in 0...Int.random(in: 0...2, using: &generator) {
        let place = bytes.isEmpty ? 0 : Int.random(in: 0..<bytes.count, using: &generator)
        let byte = UInt8.random(in: .min ... .max, using: &generator)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0 where !bytes.isEmpty: bytes[place] = byte
        case 1 where !bytes.isEmpty: bytes[place] ^= 1 << (byte & 7)
        case 2 where !bytes.isEmpty: bytes.remove(at: place)
        case 3 where !bytes.isEmpty: bytes.removeLast(bytes.count - place)
        default: bytes.insert(byte, at: place)
        }
    }
}
