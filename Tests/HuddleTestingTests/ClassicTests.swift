import GroupActivities
import Huddle
import HuddleTesting
import XCTest

/// The older test library, whose asynchronous tests wait on the main thread's run loop.
final class ClassicTests: XCTestCase {
    func testASimulationRunsInXCTest() async throws {
        let simulation = Simulation(seed: 4)
        let a = try await simulation.participant("A")
        let b = try await simulation.participant("B")
        let activated = try await a.run { try await Canvas().activate() }
        XCTAssertTrue(activated)
        try await simulation.settle(within: .seconds(2))
        let members = await b.node.room?.members.count
        XCTAssertEqual(members, 2)
    }
}
