import CSodium
import MeshWire

/// Secret bytes with one owner: not copyable, wiped when they die.
///
/// The memory is aligned to 64 bytes, so that it may hold a precomputed cipher state. It comes from
/// a ``SecretSlab`` for the keys of connections and from the heap elsewhere. Nothing prints it.
@safe
package struct SecretBytes: ~Copyable, @unchecked Sendable {
    // Sendable: the memory has this one owner, and is written through `mutating` methods only.
    private let memory: UnsafeMutableRawBufferPointer
    private let slab: SecretSlab?
    private let slot: Int

    /// `count` zero bytes in a slot of `slab`, or on the heap without one or if it has none left.
    package init(count: Int, in slab: SecretSlab? = nil) {
        if let slab, let taken = unsafe slab.take(count) {
            self.slab = slab
            slot = unsafe taken.slot
            unsafe memory = UnsafeMutableRawBufferPointer(start: taken.start, count: count)
        } else {
            let room = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 64)
            _ = unsafe room.initializeMemory(as: UInt8.self, repeating: 0)
            self.slab = nil
            slot = -1
            unsafe memory = room
        }
    }

    /// A copy of `bytes`.
    package init(_ bytes: RawSpan, in slab: SecretSlab? = nil) {
        self.init(count: bytes.byteCount, in: slab)
        unsafe bytes.withUnsafeBytes { unsafe memory.copyMemory(from: $0) }
    }

    deinit {
        // The start of an empty allocation may be nil; there is nothing to wipe then.
        if let start = unsafe memory.baseAddress { unsafe sodium_memzero(start, memory.count) }
        if let slab { slab.release(slot) } else { unsafe memory.deallocate() }
    }

    /// The number of bytes.
    package var count: Int { unsafe memory.count }

    /// The bytes, borrowed.
    package var bytes: RawSpan {
        @_lifetime(borrow self) borrowing get {
            let span = unsafe RawSpan(_unsafeBytes: UnsafeRawBufferPointer(memory))
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    @unsafe
    fileprivate var pointer: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(memory) }

    /// The bytes, for writing.
    package var mutableBytes: MutableRawSpan {
        @_lifetime(&self) mutating get {
            let span = unsafe MutableRawSpan(_unsafeBytes: memory)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// A second secret with the same bytes: for work that may fail and must leave this one as it is.
    package borrowing func duplicate() -> SecretBytes { SecretBytes(bytes) }

    /// The bytes behind each other in a new secret.
    package borrowing func joined(with other: borrowing SecretBytes) -> SecretBytes {
        let result = SecretBytes(count: count + other.count)
        unsafe result.memory.copyMemory(from: UnsafeRawBufferPointer(memory))
        let tail = unsafe UnsafeMutableRawBufferPointer(rebasing: result.memory[count...])
        unsafe tail.copyMemory(from: UnsafeRawBufferPointer(other.memory))
        return result
    }

    /// The bytes of `range` as a new secret.
    package borrowing func part(_ range: Range<Int>) -> SecretBytes {
        SecretBytes(bytes.extracting(range))
    }

    /// Copies `bytes` to the place `offset`; they must fit.
    package mutating func write(_ bytes: RawSpan, at offset: Int) {
        precondition(offset >= 0 && bytes.byteCount <= count - offset, "the bytes fit")
        unsafe bytes.withUnsafeBytes { source in
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: memory[offset...])
            unsafe room.copyMemory(from: source)
        }
    }

    /// The bytes, filled up with zeros to `size`, each combined with `mask`: an HMAC pad.
    borrowing func padded(to size: Int, xor mask: UInt8) -> SecretBytes {
        let result = SecretBytes(count: size)
        unsafe result.memory.copyMemory(from: UnsafeRawBufferPointer(memory))
        for index in 0..<size { unsafe result.memory[index] ^= mask }
        return result
    }

    /// Whether the bytes equal `other`, in constant time for equal lengths.
    package borrowing func equals(_ other: RawSpan) -> Bool { Sodium.isEqual(bytes, other) }
}

/// A secret that several owners hold: one piece of memory, wiped when the last of them lets go.
///
/// For what lives long and is read in many places: a room secret, a link secret, a mode's keys. It
/// has no description and an empty mirror.
package final class Secret: Sendable {
    private let storage: SecretBytes

    /// The secret that `storage` holds.
    package init(_ storage: consuming SecretBytes) {
        self.storage = storage
    }

    /// A copy of `bytes`.
    package convenience init(_ bytes: RawSpan) {
        self.init(SecretBytes(bytes))
    }

    /// The number of bytes.
    package var count: Int { storage.count }

    /// The bytes, borrowed.
    package var bytes: RawSpan {
        @_lifetime(borrow self) get {
            // `storage` lives as long as this object and never moves.
            let span = unsafe RawSpan(_unsafeBytes: storage.pointer)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// Whether the bytes equal `other`'s, in constant time for equal lengths.
    package func equals(_ other: Secret) -> Bool { storage.equals(other.bytes) }
}

extension Secret: CustomReflectable {
    /// Shows nothing.
    package var customMirror: Mirror { Mirror(self, children: []) }
}

/// Memory for the keys of connections: one aligned allocation, locked where the system lets us.
///
/// Two sizes of slot (`10-security.md` §6.1): 512 bytes for a precomputed AES state, 32 for a key.
/// A slot is wiped when its ``SecretBytes`` dies, the whole when the slab does. A full slab is no
/// error: further keys live on the heap, unlocked. One slab belongs to one engine and is used by one
/// thread at a time.
@safe
package final class SecretSlab: @unchecked Sendable {
    // Sendable: an engine owns its slab and all keys in it, and moves between threads as a whole.
    private let memory: UnsafeMutableRawBufferPointer
    private let slots: Int
    private var freeStates: [Int]
    private var freeKeys: [Int]
    /// Whether the system keeps the memory out of swap and core files.
    package let isLocked: Bool

    static let stateBytes = 512
    static let keyBytes = 32

    /// A slab for `slots` keys of each size; by default three pairs for each of 64 peers.
    package init(slots: Int = 3 * 2 * Limits.members) {
        let size = slots * (Self.stateBytes + Self.keyBytes)
        let room = UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 4096)
        unsafe room.initializeMemory(as: UInt8.self, repeating: 0)
        if let start = room.baseAddress {
            isLocked = unsafe Sodium.isReady && sodium_mlock(start, size) == 0
        } else {
            isLocked = false
        }
        unsafe memory = room
        self.slots = slots
        freeStates = Array((0..<slots).reversed())
        freeKeys = Array((slots..<2 * slots).reversed())
    }

    deinit {
        if let start = unsafe memory.baseAddress {
            // Unlocking wipes, too; the order covers the case that it was never locked.
            unsafe sodium_memzero(start, memory.count)
            if isLocked { _ = unsafe sodium_munlock(start, memory.count) }
        }
        unsafe memory.deallocate()
    }

    /// The number of free slots of both sizes.
    package var freeCount: Int { freeStates.count + freeKeys.count }

    /// Whether every byte is zero, as it must be once all keys are gone: for tests.
    package var isWiped: Bool { unsafe memory.allSatisfy { $0 == 0 } }

    /// Takes a slot for `count` bytes; nil if none of that size is left.
    @unsafe
    func take(_ count: Int) -> (start: UnsafeMutableRawPointer, slot: Int)? {
        guard let base = unsafe memory.baseAddress else { return nil }
        if count <= Self.keyBytes, let slot = freeKeys.popLast() {
            let offset = slots * Self.stateBytes + (slot - slots) * Self.keyBytes
            return unsafe (base + offset, slot)
        }
        guard count <= Self.stateBytes, let slot = freeStates.popLast() else { return nil }
        return unsafe (base + slot * Self.stateBytes, slot)
    }

    /// Gives a slot back; its owner has wiped it.
    func release(_ slot: Int) {
        if slot < slots { freeStates.append(slot) } else { freeKeys.append(slot) }
    }
}
