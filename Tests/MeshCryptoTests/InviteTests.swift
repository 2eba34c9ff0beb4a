import MeshWire
import Testing

@testable import MeshCrypto

@Suite("Invites — 10-security §7")
struct InviteTests {
    static let examples = ["07-4K9QXMC", "42-000001D", "99-ZZZZZZR"]

    @Test("the chapter's codes read and print alike", arguments: examples)
    func spelling(text: String) throws {
        let code = try #require(InviteCode(text))
        #expect(code.text == text)
        #expect(code.slot == UInt8(text.prefix(2)))
        let password = code.password.bytes.copied
        #expect(password == Array(text.dropFirst(3).dropLast().utf8))
    }

    @Test("case, spaces, hyphens and look-alikes do not matter")
    func lenient() {
        for text in ["074k9qxmc", " 07 4K9-QXM C", "O7-4K9QXMC", "o7-4k9qxmc-"] {
            #expect(InviteCode(text)?.text == "07-4K9QXMC", "\(text)")
        }
        for text in ["42-00000ID", "42-oooolD", "42-OOOOO1D"] {
            #expect((InviteCode(text)?.text == "42-000001D") == (text.count == 10), "\(text)")
        }
    }

    @Test("every wrong symbol and every swap of neighbours is found — S25")
    func typos() throws {
        var source = SeededSecrets(seed: 25)
        var codes = Self.examples
        for slot in stride(from: UInt8(0), to: 100, by: 7) {
            codes.append(InviteCode(slot: slot, from: &source).text)
        }
        for text in codes {
            let symbols = Array(text.replacing("-", with: "").utf8)
            for place in symbols.indices {
                for other in Crockford.symbols where other != symbols[place] {
                    var wrong = symbols
                    wrong[place] = other
                    let spelled = String(decoding: wrong, as: UTF8.self)
                    let isRead = InviteCode(spelled) != nil
                    #expect(!isRead, "\(text) as \(spelled)")
                }
            }
            for place in 1..<symbols.count where symbols[place - 1] != symbols[place] {
                var wrong = symbols
                wrong.swapAt(place - 1, place)
                let spelled = String(decoding: wrong, as: UTF8.self)
                let isRead = InviteCode(spelled) != nil
                #expect(!isRead, "\(text) as \(spelled)")
            }
        }
    }

    @Test(
        "what is no code is refused",
        arguments: [
            "", "0", "07", "07-4K9QXM", "07-4K9QXMCC", "07-4K9UXMC", "07_4K9QXMC", "A7-4K9QXMC",
            "07-4K9QXM\u{0}", "٠٧-4K9QXMC", String(repeating: "0", count: 4_000),
        ]
    )
    func refused(text: String) {
        let isRead = InviteCode(text) != nil
        #expect(!isRead)
    }

    @Test("codes are spread over all symbols and differ")
    func random() {
        var source = SeededSecrets(seed: 7)
        var seen: Set<String> = []
        var symbols: Set<Character> = []
        for _ in 0..<500 {
            let text = InviteCode(slot: 12, from: &source).text
            seen.insert(text)
            symbols.formUnion(text.dropFirst(3).dropLast())
        }
        #expect(seen.count == 500)
        #expect(symbols.count == 32)
    }

    @Test("secrets print nothing — S49")
    func silence() throws {
        let code = try #require(InviteCode("07-4K9QXMC"))
        let link = InviteLink(
            secret: Secret(fill(0x41)),
            isSingleUse: true,
            inviter: nil,
            addresses: []
        )
        var dumped = ""
        dump(code, to: &dumped)
        dump(link, to: &dumped)
        dump(knownRoom, to: &dumped)
        dump(ModeKeys.member(knownRoom), to: &dumped)
        dump(Identity(seed: fill(0x41).raw), to: &dumped)
        dump(Secret(fill(0x41)), to: &dumped)
        dumped += "\(code) \(link) \(knownRoom) \(ModeKeys.member(knownRoom))"
        dumped += String(reflecting: code) + String(reflecting: link)
        for marker in ["4K9QXM", "QUFB", "4141", "65", "AAAA", "1717", "symbols", "storage"] {
            #expect(!dumped.contains(marker), "\(marker) in \(dumped)")
        }
    }

    // MARK: Links

    static let secret = String(repeating: "A", count: 42) + "E"  // 31 zero bytes, then 1
    static let inviter = NodeID(fill(9)) ?? .zero

    @Test("a link reads and prints alike")
    func linkRoundTrip() throws {
        let link = InviteLink(
            secret: Secret(fill(0xfb)),
            isSingleUse: false,
            inviter: Self.inviter,
            addresses: [
                SocketAddress(192, 168, 1, 2, port: 700),
                SocketAddress(8, 8, 8, 8, port: 53),
                try #require(SocketAddress("[fd00::1]:9")),
            ]
        )
        let text = link.text
        #expect(text.hasPrefix("huddle:?v=1&s=-_v7-_v7"))
        #expect(text.hasSuffix("&a=192.168.1.2:700&a=[fd00::1]:9"))
        let read = try #require(InviteLink(text))
        #expect(read.secret.equals(link.secret))
        #expect(read.isSingleUse == false)
        #expect(read.inviter == Self.inviter)
        #expect(read.addresses == link.addresses)
        #expect(read.text == text)
    }

    struct LinkRow: Sendable, CustomTestStringConvertible {
        var text: String
        var isGood: Bool
        var because: String
        var testDescription: String { because }
    }

    static let links = [
        LinkRow(text: "huddle:?v=1&s=\(secret)", isGood: true, because: "the least"),
        LinkRow(text: "huddle:?s=\(secret)&v=1", isGood: true, because: "any order"),
        LinkRow(text: "huddle:?v=1&s=\(secret)&x=1&x=2", isGood: true, because: "unknown fields"),
        LinkRow(text: "huddle:?s=\(secret)", isGood: false, because: "no version"),
        LinkRow(text: "huddle:?v=2&s=\(secret)", isGood: false, because: "another version"),
        LinkRow(text: "huddle:?v=1&v=1&s=\(secret)", isGood: false, because: "version twice"),
        LinkRow(text: "huddle:?v=1", isGood: false, because: "no secret"),
        LinkRow(text: "huddle:?v=1&s=\(secret)&s=\(secret)", isGood: false, because: "s twice"),
        LinkRow(text: "huddle:?v=1&s=\(secret)&u=1&u=1", isGood: false, because: "u twice"),
        LinkRow(text: "huddle:?v=1&s=\(secret)&u=2", isGood: false, because: "u neither 0 nor 1"),
        LinkRow(text: "huddle:?v=1&s=\(secret)A", isGood: false, because: "44 symbols"),
        LinkRow(
            text: "huddle:?v=1&s=\(secret.dropLast())F",
            isGood: false,
            because: "spare bits set"
        ),
        LinkRow(
            text: "huddle:?v=1&s=\(secret.dropLast())=",
            isGood: false,
            because: "padding"
        ),
        LinkRow(text: "huddle:?v=1&s=\(secret)&f=\(secret)", isGood: true, because: "an inviter"),
        LinkRow(text: "huddle:?v=1&s=\(secret)&f=AA", isGood: false, because: "a short inviter"),
        LinkRow(text: "huddle:?v=1&s=\(secret)&a=10.0.0.1:1", isGood: true, because: "private"),
        LinkRow(text: "huddle:?v=1&s=\(secret)&a=8.8.8.8:1", isGood: false, because: "public"),
        LinkRow(text: "huddle:?v=1&s=\(secret)&a=10.0.0.1:0", isGood: false, because: "port 0"),
        LinkRow(
            text: "huddle:?v=1&s=\(secret)&a=[fe80::1%2]:1",
            isGood: false,
            because: "a zone"
        ),
        LinkRow(
            text: "huddle:?v=1&s=\(secret)" + String(repeating: "&a=10.0.0.1:1", count: 4),
            isGood: true,
            because: "four addresses"
        ),
        LinkRow(
            text: "huddle:?v=1&s=\(secret)" + String(repeating: "&a=10.0.0.1:1", count: 5),
            isGood: false,
            because: "five addresses"
        ),
        LinkRow(text: "huddle:?v=1&s=\(secret)&", isGood: false, because: "an empty field"),
        LinkRow(text: "HUDDLE:?v=1&s=\(secret)", isGood: false, because: "another scheme"),
        LinkRow(text: "", isGood: false, because: "nothing"),
    ]

    @Test("links are read or refused as a table says — S25", arguments: links)
    func linkTable(row: LinkRow) {
        let link = InviteLink(row.text)
        #expect((link != nil) == row.isGood)
        if row.because == "the least" { #expect(link?.isSingleUse == true) }
    }
}
