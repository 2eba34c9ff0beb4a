import Testing

@testable import GroupActivities

/// Names that programs write and that do little here, or nothing (`40-groupactivities.md` G1).
@Suite("Names") struct NamesTests {
    /// Compiles as it stands: the representation has a default.
    struct Film: GroupActivity, Transferable {
        static let activityIdentifier = "test.film"
        var title = "Metropolis"

        var metadata: GroupActivityMetadata {
            var metadata = GroupActivityMetadata()
            metadata.title = title
            return metadata
        }

        /// It also reads what an older version of it started.
        static func _identifiable(by identifier: String) -> Bool {
            identifier == activityIdentifier || identifier == "test.oldfilm"
        }
    }

    struct Poster: Transferable {
        var name: String

        static var transferRepresentation: some TransferRepresentation {
            GroupActivityTransferRepresentation { (poster: Poster) in Film(title: poster.name) }
        }
    }

    struct Plain: GroupActivity {
        var metadata: GroupActivityMetadata { get async { GroupActivityMetadata() } }
    }

    /// What an exported activity consists of.
    private struct Exported: Decodable {
        var identifier: String
        var payload: Data
        var metadata: GroupActivityMetadata
    }

    private func exported(_ item: some Transferable) async throws -> Exported {
        let (type, content) = try await item.exported()
        #expect(type.identifier == "org.huddle.group-activity")
        return try ActivityPayload.decode(Exported.self, Array(try content.bytes()))
    }

    @Test("an activity, and what stands for one, is exported as the activity")
    func transfer() async throws {
        for exported in [
            try await exported(Film()), try await exported(Poster(name: "Metropolis")),
        ] {
            #expect(exported.identifier == "test.film")
            #expect(exported.metadata.title == "Metropolis")
            let film = try ActivityPayload.decode(Film.self, Array(exported.payload))
            #expect(film.title == "Metropolis")
        }
    }

    @Test("a type takes the identifiers it says; its own if it says nothing")
    func identifiers() {
        #expect(Film._identifiable(by: "test.film") && Film._identifiable(by: "test.oldfilm"))
        #expect(Plain._identifiable(by: Plain.activityIdentifier))
        #expect(!Plain._identifiable(by: "test.film"))
    }

    private enum Role: String, SpatialTemplateRole {
        case speaker, audience
    }

    private struct Stage: SpatialTemplate {
        var elements: [any SpatialTemplateElement] {
            [
                .seat(position: .app.offsetBy(x: 0, z: 2), role: Role.speaker),
                .seat(
                    position: .app,
                    direction: .alignedWith(appAxis: .x).rotatedBy(Angle2D(degrees: 90))
                ),
            ]
        }
    }

    @Test("spatial templates are data")
    func spatial() {
        let elements = Stage().elements
        #expect(elements.count == 2)
        #expect(elements[0].role?.roleIdentifier == "speaker")
        let seat = SpatialTemplateSeatElement(position: .app)
        #expect(seat == SpatialTemplateSeatElement(position: .app, direction: .lookingAt(.app)))
        #expect(seat != SpatialTemplateSeatElement(position: .app, role: Role.audience))
        #expect(seat.direction != .lookingAt(.app.offsetBy(x: 1, z: 0)))
        #expect(Stage().configuration.defaultInitiatorRole == nil)
        var configuration = SystemCoordinator.Configuration()
        configuration.spatialTemplatePreference = .custom(Stage()).contentExtent(2)
        #expect("\(configuration.spatialTemplatePreference)" == "custom")
    }

    /// A program's own code for a space; that it compiles is the point.
    private func place(_ session: GroupSession<Film>?) async -> Bool {
        guard let coordinator = await session?.systemCoordinator else { return false }
        coordinator.configuration.supportsGroupImmersiveSpace = true
        coordinator.assignRole(Role.speaker)
        coordinator.resignRole()
        for await state in coordinator.localParticipantStates where state.isSpatial { return true }
        return coordinator.remoteParticipantStates.isEmpty
    }

    @Test("nobody has a place")
    func noSpace() async {
        #expect(await place(nil) == false)
    }
}
