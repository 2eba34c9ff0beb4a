// modules: MeshWire
//
import MeshWire

/// Frames: what is read can be written again, byte for byte, and nothing traps.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFrames(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = unsafe Array(UnsafeBufferPointer(start: start, count: count))
    var reader = ByteReader(bytes.raw)
    var again: [UInt8] = []
    do throws(WireError) {
        while reader.remaining > 0 { try Frame(reading: &reader).encode(into: &again) }
    } catch {
        return 0
    }
    precondition(again == bytes, "a packet's content has one form")
    return 0
}
