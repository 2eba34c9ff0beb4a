import Testing

@testable import HuddleCommand

@Suite("QR code — ISO/IEC 18004") struct QRCodeTests {
    @Test("a text gives the modules that an independent reader decoded to that text")
    func golden() throws {
        let expected = """
            111111100011101111111
            100000101110101000001
            101110100011101011101
            101110101100101011101
            101110100100101011101
            100000101001001000001
            111111101010101111111
            000000000100000000000
            111110111001010101010
            001001000001110111111
            110110110110100001110
            100100010001110101100
            111011110110101100001
            000000001010110111101
            111111101111010100110
            100000100110010001111
            101110101001001000001
            101110101110111111100
            101110101000110000100
            100000101001010101100
            111111101011001010010
            """
        let code = try #require(QRCode(encoding: "huddle demo"))
        let rows = (0..<code.size).map { row in
            (0..<code.size).map { code[row, $0] ? "1" : "0" }.joined()
        }
        #expect(rows.joined(separator: "\n") == expected)
    }

    @Test("the version is the smallest that holds the text, up to 858 bytes")
    func sizes() {
        for (count, size) in [(0, 21), (17, 21), (18, 25), (230, 53), (231, 57), (858, 97)] {
            #expect(QRCode(encoding: String(repeating: "x", count: count))?.size == size)
        }
        #expect(QRCode(encoding: String(repeating: "x", count: 859)) == nil)
    }
}
