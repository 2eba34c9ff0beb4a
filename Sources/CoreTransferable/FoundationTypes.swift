public import Foundation

extension Data: Transferable {
    /// The bytes as they are; they can be made of any content.
    public static var transferRepresentation: some TransferRepresentation {
        DataRepresentation(contentType: .data) {
            $0
        } importing: {
            $0
        }
    }
}

extension String: Transferable {
    /// The text in UTF-8; it can be made of any text.
    public static var transferRepresentation: some TransferRepresentation {
        DataRepresentation(contentType: .utf8PlainText) {
            Data($0.utf8)
        } importing: {
            try decoded($0)
        }
        DataRepresentation(importedContentType: .text) { try decoded($0) }
    }

    private static func decoded(_ data: Data) throws -> String {
        guard let text = String(data: data, encoding: .utf8) else { throw TransferError.notUTF8 }
        return text
    }
}

extension URL: Transferable {
    /// The absolute address in UTF-8.
    public static var transferRepresentation: some TransferRepresentation {
        DataRepresentation(contentType: .url) {
            Data($0.absoluteString.utf8)
        } importing: { data in
            guard let text = String(data: data, encoding: .utf8) else {
                throw TransferError.notUTF8
            }
            guard let url = URL(string: text) else { throw TransferError.notURL }
            return url
        }
    }
}

extension AttributedString: Transferable {
    /// The plain text: attributes are not transferred, as they are not Codable on Linux.
    public static var transferRepresentation: some TransferRepresentation {
        ProxyRepresentation(
            exporting: { String($0.characters) },
            importing: { AttributedString($0) }
        )
    }
}
