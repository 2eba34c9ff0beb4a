/// Why a process cannot start or join activities now (`40-groupactivities.md` §3).
public enum EligibilityDiagnosis: Error, Hashable, Sendable {
    /// The process is in no room, and found none to go into.
    case noRoom
    /// The node was stopped.
    case nodeStopped
    /// The node is in a room and no view is installed yet, or too few members are in reach.
    case viewNotInstalled
    /// There is a room on this machine and the way into it failed; the words say how.
    case refused(String)
    /// The process said that it takes no part.
    case disabledByPolicy
}

extension EligibilityDiagnosis: CustomStringConvertible {
    /// One sentence that a user can act on, with no stop.
    public var description: String {
        switch self {
        case .noRoom:
            "no room: 'huddle up --detach' starts one that the programs of this user share"
        case .nodeStopped: "the node was stopped"
        case .viewNotInstalled: "the room's members are not agreed yet, or too few are in reach"
        case .refused(let why): "the room of this machine cannot be entered: \(why)"
        case .disabledByPolicy: "the program takes no part in activities"
        }
    }
}
