/// A QR code (ISO/IEC 18004) of bytes, error correction level L, versions 1 to 20.
///
/// For links that a phone or a second machine's camera reads off the terminal.
struct QRCode {
    /// Modules of a side.
    let size: Int
    /// Whether the module at row, column is dark, row by row.
    private(set) var modules: [Bool]
    /// Modules of the fixed patterns, which no data and no mask touches.
    private var isFixed: [Bool]
    private let version: Int

    /// The code of `text`; `nil` if it has more bytes than version 20 holds (858).
    init?(encoding text: String) {
        let bytes = Array(text.utf8)
        let fitting = (1...20).first { bytes.count + ($0 < 10 ? 2 : 3) <= Self.dataBytes($0) }
        guard let version = fitting else { return nil }
        self.version = version
        size = version * 4 + 17
        modules = Array(repeating: false, count: size * size)
        isFixed = modules
        drawFixedPatterns()
        draw(Self.codewords(bytes, version))
        chooseMask()
    }

    /// Whether the module at `row`, `column` is dark; outside everything is light.
    subscript(row: Int, column: Int) -> Bool {
        guard 0..<size ~= row, 0..<size ~= column else { return false }
        return modules[row * size + column]
    }

    /// Lines of half blocks, two rows of modules in each, with the quiet zone around.
    ///
    /// Dark modules are the terminal's background: to be printed on a dark terminal.
    var halfBlocks: String {
        stride(from: -2, to: size + 2, by: 2).map { row in
            (-2..<size + 2).map { column -> String in
                switch (self[row, column], self[row + 1, column]) {
                case (false, false): "█"
                case (false, true): "▀"
                case (true, false): "▄"
                case (true, true): " "
                }
            }.joined()
        }.joined(separator: "\n")
    }

    // MARK: Codewords (§7.4, §7.5)

    /// Codewords of error correction in a block, and blocks, of level L by version (table 9).
    private static let correction: [(perBlock: Int, blocks: Int)] = [
        (7, 1), (10, 1), (15, 1), (20, 1), (26, 1), (18, 2), (20, 2), (24, 2), (30, 2), (18, 4),
        (20, 4), (24, 4), (26, 4), (30, 4), (22, 6), (24, 6), (28, 6), (30, 6), (28, 7), (28, 8),
    ]

    /// All codewords of a version (table 1).
    private static func allBytes(_ version: Int) -> Int {
        var bits = (16 * version + 128) * version + 64
        if version >= 2 {
            let alignments = version / 7 + 2
            bits -= (25 * alignments - 10) * alignments - 55
            if version >= 7 { bits -= 36 }
        }
        return bits / 8
    }

    private static func dataBytes(_ version: Int) -> Int {
        let (perBlock, blocks) = correction[version - 1]
        return allBytes(version) - perBlock * blocks
    }

    /// Mode, count, bytes, terminator and padding, then the correction, interleaved.
    private static func codewords(_ bytes: [UInt8], _ version: Int) -> [UInt8] {
        var bits: [Bool] = []
        func append(_ value: Int, _ count: Int) {
            for bit in (0..<count).reversed() { bits.append(value >> bit & 1 == 1) }
        }
        append(0b0100, 4)
        append(bytes.count, version < 10 ? 8 : 16)
        for byte in bytes { append(Int(byte), 8) }
        let capacity = dataBytes(version) * 8
        append(0, min(4, capacity - bits.count))
        append(0, (8 - bits.count % 8) % 8)
        var padding = 0xec
        while bits.count < capacity {
            append(padding, 8)
            padding ^= 0xec ^ 0x11
        }
        let data = stride(from: 0, to: bits.count, by: 8).map { start in
            bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
        }
        return interleaved(data, version)
    }

    private static func interleaved(_ data: [UInt8], _ version: Int) -> [UInt8] {
        let (perBlock, count) = correction[version - 1]
        let all = allBytes(version)
        // The last blocks are one codeword longer where the division leaves a rest.
        let short = count - all % count
        let divisor = generator(degree: perBlock)
        var blocks: [(data: ArraySlice<UInt8>, correction: [UInt8])] = []
        var start = 0
        for index in 0..<count {
            let length = all / count - perBlock + (index < short ? 0 : 1)
            let block = data[start..<start + length]
            blocks.append((block, remainder(block, divisor)))
            start += length
        }
        var result: [UInt8] = []
        for index in 0...(all / count - perBlock) {
            for block in blocks where index < block.data.count {
                result.append(block.data[block.data.startIndex + index])
            }
        }
        for index in 0..<perBlock { result += blocks.map { $0.correction[index] } }
        return result
    }

    /// The product in GF(2^8) modulo x^8 + x^4 + x^3 + x^2 + 1.
    private static func multiply(_ left: UInt8, _ right: UInt8) -> UInt8 {
        var product = 0
        for bit in (0..<8).reversed() {
            product = product << 1 ^ (product >> 7) * 0x11d
            product ^= Int(right) >> bit & 1 == 1 ? Int(left) : 0
        }
        return UInt8(product)
    }

    private static func generator(degree: Int) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: degree - 1) + [1]
        var root: UInt8 = 1
        for _ in 0..<degree {
            for index in 0..<degree {
                result[index] = multiply(result[index], root)
                if index + 1 < degree { result[index] ^= result[index + 1] }
            }
            root = multiply(root, 2)
        }
        return result
    }

    private static func remainder(_ data: ArraySlice<UInt8>, _ divisor: [UInt8]) -> [UInt8] {
        var result = [UInt8](repeating: 0, count: divisor.count)
        for byte in data {
            let factor = byte ^ result.removeFirst()
            result.append(0)
            for index in result.indices { result[index] ^= multiply(divisor[index], factor) }
        }
        return result
    }

    // MARK: Modules (§6.3, §7.7 to §7.10)

    private mutating func fix(_ row: Int, _ column: Int, _ isDark: Bool) {
        guard 0..<size ~= row, 0..<size ~= column else { return }
        modules[row * size + column] = isDark
        isFixed[row * size + column] = true
    }

    private mutating func drawFixedPatterns() {
        for index in 0..<size {
            fix(6, index, index % 2 == 0)
            fix(index, 6, index % 2 == 0)
        }
        for (row, column) in [(3, 3), (3, size - 4), (size - 4, 3)] {
            for y in -4...4 {
                for x in -4...4 {
                    let distance = max(abs(x), abs(y))
                    fix(row + y, column + x, distance != 2 && distance != 4)
                }
            }
        }
        let centers = alignmentCenters
        for (i, row) in centers.enumerated() {
            for (j, column) in centers.enumerated() {
                let last = centers.count - 1
                // Three corners belong to the finders.
                if (i, j) == (0, 0) || (i, j) == (0, last) || (i, j) == (last, 0) { continue }
                for y in -2...2 {
                    for x in -2...2 { fix(row + y, column + x, max(abs(x), abs(y)) != 1) }
                }
            }
        }
        drawFormat(mask: 0)
        drawVersion()
    }

    private var alignmentCenters: [Int] {
        guard version > 1 else { return [] }
        let count = version / 7 + 2
        let step = (version * 4 + count * 2 + 1) / (count * 2 - 2) * 2
        return [6] + (0..<count - 1).map { size - 7 - $0 * step }.reversed()
    }

    /// Level L and the mask, protected by a BCH code (§7.9).
    private mutating func drawFormat(mask: Int) {
        let data = 0b01 << 3 | mask
        var rest = data
        for _ in 0..<10 { rest = rest << 1 ^ (rest >> 9) * 0x537 }
        let bits = (data << 10 | rest) ^ 0x5412
        func bit(_ index: Int) -> Bool { bits >> index & 1 == 1 }
        for index in 0...5 { fix(index, 8, bit(index)) }
        fix(7, 8, bit(6))
        fix(8, 8, bit(7))
        fix(8, 7, bit(8))
        for index in 9..<15 { fix(8, 14 - index, bit(index)) }
        for index in 0..<8 { fix(8, size - 1 - index, bit(index)) }
        for index in 8..<15 { fix(size - 15 + index, 8, bit(index)) }
        fix(size - 8, 8, true)
    }

    private mutating func drawVersion() {
        guard version >= 7 else { return }
        var rest = version
        for _ in 0..<12 { rest = rest << 1 ^ (rest >> 11) * 0x1f25 }
        let bits = version << 12 | rest
        for index in 0..<18 {
            let isDark = bits >> index & 1 == 1
            fix(size - 11 + index % 3, index / 3, isDark)
            fix(index / 3, size - 11 + index % 3, isDark)
        }
    }

    /// Lays the codewords in their zigzag, two columns at a time, from the right bottom.
    private mutating func draw(_ codewords: [UInt8]) {
        var position = 0
        for right in stride(from: size - 1, through: 1, by: -2) {
            // The vertical timing pattern is skipped.
            let right = right <= 6 ? right - 1 : right
            let isUpward = (right + 1) & 2 == 0
            for step in 0..<size {
                let row = isUpward ? size - 1 - step : step
                for column in [right, right - 1] {
                    let index = row * size + column
                    guard !isFixed[index], position < codewords.count * 8 else { continue }
                    modules[index] = codewords[position >> 3] >> UInt8(7 - position & 7) & 1 == 1
                    position += 1
                }
            }
        }
    }

    private mutating func apply(mask: Int) {
        for row in 0..<size {
            for column in 0..<size where !isFixed[row * size + column] {
                let flips =
                    switch mask {
                    case 0: (row + column) % 2 == 0
                    case 1: row % 2 == 0
                    case 2: column % 3 == 0
                    case 3: (row + column) % 3 == 0
                    case 4: (column / 3 + row / 2) % 2 == 0
                    case 5: row * column % 2 + row * column % 3 == 0
                    case 6: (row * column % 2 + row * column % 3) % 2 == 0
                    default: ((row + column) % 2 + row * column % 3) % 2 == 0
                    }
                if flips { modules[row * size + column].toggle() }
            }
        }
    }

    /// Takes the mask with the least long runs, blocks and imbalance (§7.8.3, its first, second and
    /// fourth rule; every mask is read alike).
    private mutating func chooseMask() {
        var best = (mask: 0, penalty: Int.max)
        for mask in 0..<8 {
            apply(mask: mask)
            drawFormat(mask: mask)
            let found = penalty
            if found < best.penalty { best = (mask, found) }
            apply(mask: mask)
        }
        apply(mask: best.mask)
        drawFormat(mask: best.mask)
    }

    private var penalty: Int {
        var result = 0
        for line in 0..<size {
            for isRow in [true, false] {
                var run = 0
                var last: Bool?
                for index in 0..<size {
                    let module = isRow ? self[line, index] : self[index, line]
                    run = module == last ? run + 1 : 1
                    last = module
                    if run == 5 { result += 3 } else if run > 5 { result += 1 }
                }
            }
        }
        for row in 0..<size - 1 {
            for column in 0..<size - 1 {
                let first = self[row, column]
                if first == self[row, column + 1], first == self[row + 1, column],
                    first == self[row + 1, column + 1]
                {
                    result += 3
                }
            }
        }
        let dark = modules.count { $0 }
        return result + abs(dark * 20 - modules.count * 10) / modules.count * 10
    }
}
