/// A QR code of a text (ISO/IEC 18004).
struct QRCode {
    init?(encoding text: String) { return nil }
    var halfBlocks: String { "" }
}
