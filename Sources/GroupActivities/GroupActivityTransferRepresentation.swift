import Huddle
import MessageCoding

/// A representation of values as the activity that would share them.
///
/// ```swift
/// struct Film: Transferable {
///     static var transferRepresentation: some TransferRepresentation {
///         GroupActivityTransferRepresentation { film in WatchTogether(film) }
///     }
/// }
/// ```
public struct GroupActivityTransferRepresentation<Item: Transferable>: TransferRepresentation {
    private let exporting: @Sendable (Item) async throws -> Data

    /// Exports the activity that `exporting` makes of a value.
    public init<ActivityType: GroupActivity>(
        exporting: @escaping @Sendable (Item) async throws -> ActivityType
    ) {
        // Nothing of the activity is kept beyond the one call.
        let export = UncheckedBox { (item: Item) async throws -> Data in
            try await TransferredActivity.bytes(of: try await exporting(item))
        }
        self.exporting = { try await export.value($0) }
    }

    /// The activity's identifier, value and metadata, as messages are coded.
    public var body: some TransferRepresentation {
        DataRepresentation<Item>(
            exportedContentType: UTType(exportedAs: "org.huddle.group-activity"),
            exporting: exporting
        )
    }
}

/// An activity on its way to another program.
struct TransferredActivity: Codable {
    var identifier: String
    var payload: Data
    var metadata: GroupActivityMetadata

    /// Throws ``ActivationError`` of kind `encoding` or `tooLarge`.
    static func bytes<ActivityType: GroupActivity>(
        of activity: ActivityType
    ) async throws -> Data {
        let payload = try ActivityPayload.encode(activity)
        let transferred = TransferredActivity(
            identifier: ActivityType.activityIdentifier,
            payload: Data(payload),
            metadata: try await activity.timelyMetadata.checked()
        )
        return Data(try MessageEncoder().encode(transferred))
    }
}

extension GroupActivity where Self: Transferable {
    /// The activity itself.
    public static var transferRepresentation: some TransferRepresentation {
        GroupActivityTransferRepresentation<Self>(exporting: { $0 })
    }
}
