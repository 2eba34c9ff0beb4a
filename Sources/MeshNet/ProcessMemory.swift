import CLinux

/// What this process holds in memory.
package enum ProcessMemory {
    /// Bytes taken from the heap and not given back, which is what the program itself holds.
    package static var heapBytes: Int { Int(linux_heap_bytes()) }

    /// Keeps pieces of so many bytes or more out of the heap for good, each in a mapping of its own.
    ///
    /// Else glibc raises that size whenever a mapped piece is freed, and later ones leave holes in the heap.
    package static func mapPieces(above byteCount: Int) {
        linux_map_above(Int32(clamping: byteCount))
    }
}
