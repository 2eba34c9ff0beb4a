import Foundation
import Testing

/// A home of its own in which `huddle up` runs on loopback, if `isUp`; `body` gets what programs of it inherit.
func withUser(
    isUp: Bool = true,
    _ body: ([String: String]) async throws -> Void
) async throws {
    var template = Array("/tmp/huddle-user-XXXXXX".utf8CString)
    _ = try #require(mkdtemp(&template))
    let home = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    defer { try? FileManager.default.removeItem(atPath: home) }
    let environment = [
        "HOME": home, "XDG_RUNTIME_DIR": "\(home)/run", "XDG_DATA_HOME": "\(home)/data",
        "XDG_STATE_HOME": "\(home)/state",
    ]
    try FileManager.default.createDirectory(
        atPath: "\(home)/run",
        withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700]
    )
    guard isUp else { return try await body(environment) }
    let node = try Peer("node", "huddle", ["up", "--loopback"], environment: environment)
    defer { node.stop() }
    try await node.expect("✓")
    try await body(environment)
}
