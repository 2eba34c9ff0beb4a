import Huddle

/// An in-app message that starts an activity: a video to be watched together
/// (`40-groupactivities.md` §9.7).
///
/// What comes from the network is checked again by each member, by ``CampaignRules/current``.
public struct CampaignActivity: GroupActivity, Hashable, Sendable {
    /// The same for every program that reads campaigns.
    public static let activityIdentifier = "org.huddle.campaign"

    /// What is shown of a video that the campaign gives no title.
    public static let defaultTitle = "Video Content"
    /// The most bytes of a title.
    public static let titleLimit = 256

    /// Where the video is.
    public let url: URL
    /// What people are shown: no control characters, no marks that turn the direction of text.
    public let title: String

    /// The activity of an in-app message's pairs.
    ///
    /// - Parameters:
    ///   - extras: `video_url`, which it must have, and `video_title`.
    ///   - rules: Which addresses are taken; ``CampaignRules/current`` if nothing is said.
    /// - Throws: ``CampaignError``.
    public init(
        extras: [String: String],
        rules: CampaignRules = .current
    ) throws(CampaignError) {
        guard let address = extras[Key.url.rawValue], !address.isEmpty else {
            throw .missing(Key.url.rawValue)
        }
        url = try rules.url(address)
        let cleaned = SafeText.clean(
            extras[Key.title.rawValue] ?? "",
            toBytes: Self.titleLimit
        )
        title = cleaned.isEmpty ? Self.defaultTitle : cleaned
    }

    /// The title, the address for those who lack the program, and that it is watched.
    public var metadata: GroupActivityMetadata {
        var metadata = GroupActivityMetadata()
        metadata.type = .watchTogether
        metadata.title = title
        metadata.fallbackURL = url
        return metadata
    }

    private enum Key: String, CodingKey {
        case url = "video_url"
        case title = "video_title"
    }

    /// Reads what another member sent, and takes it by this program's own rules alone.
    public init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: Key.self)
        var extras = [Key.url.rawValue: try values.decode(String.self, forKey: .url)]
        extras[Key.title.rawValue] = try values.decodeIfPresent(String.self, forKey: .title)
        try self.init(extras: extras)
    }

    /// Writes the pairs that ``init(extras:rules:)`` reads.
    public func encode(to encoder: any Encoder) throws {
        var values = encoder.container(keyedBy: Key.self)
        try values.encode(url.absoluteString, forKey: .url)
        try values.encode(title, forKey: .title)
    }
}
