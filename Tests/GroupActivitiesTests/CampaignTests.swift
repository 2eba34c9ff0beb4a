import Foundation
import Testing

@testable import GroupActivities

/// Campaigns and what they may not lead to (`40-groupactivities.md` §9.7, G25).
@Suite("Campaigns — 40-groupactivities §9.7") struct CampaignTests {
    struct Row: CustomTestStringConvertible, Sendable {
        var address: String
        /// A part of the reason; `nil` if the address is taken.
        var reason: String?
        var testDescription: String { "\(address) → \(reason ?? "taken")" }
    }

    static let rows = [
        Row(address: "https://example.com/film.mp4", reason: nil),
        Row(address: "HTTPS://Example.COM:8443/a?b=c#d", reason: nil),
        Row(address: "https://xn--bcher-kva.example/", reason: nil),
        Row(address: "https://93.184.215.14/film", reason: nil),
        Row(address: "https://[2606:2800:220:1::1]/film", reason: nil),
        Row(address: "https://example.com./", reason: nil),
        Row(address: "http://example.com/", reason: "scheme"),
        Row(address: "javascript:alert(1)", reason: "no host"),
        Row(address: "javascript://example.com/%0aalert(1)", reason: "scheme"),
        Row(address: "file:///etc/passwd", reason: "no host"),
        Row(address: "example.com/film", reason: "no scheme"),
        Row(address: "https:///film", reason: "no host"),
        Row(address: "https:example.com", reason: "no host"),
        Row(address: "https://ada@example.com/", reason: "user"),
        Row(address: "https://example.com@evil.example/", reason: "user"),
        Row(address: "https://ada:secret@example.com/", reason: "user"),
        Row(address: "https://localhost/", reason: "name of a local network"),
        Row(address: "https://a.localhost/", reason: "name of a local network"),
        Row(address: "https://localhost./", reason: "name of a local network"),
        Row(address: "https://printer/", reason: "name of a local network"),
        Row(address: "https://printer.local/", reason: "name of a local network"),
        Row(address: "https://nas.home.arpa/", reason: "name of a local network"),
        Row(address: "https://127.0.0.1/", reason: "address of a local network"),
        Row(address: "https://0.0.0.0/", reason: "address of a local network"),
        Row(address: "https://10.1.2.3/", reason: "address of a local network"),
        Row(address: "https://172.16.0.1/", reason: "address of a local network"),
        Row(address: "https://172.31.255.255/", reason: "address of a local network"),
        Row(address: "https://172.32.0.1/", reason: nil),
        Row(address: "https://192.168.1.1/", reason: "address of a local network"),
        Row(address: "https://169.254.169.254/latest", reason: "address of a local network"),
        Row(address: "https://100.64.0.1/", reason: "address of a local network"),
        Row(address: "https://224.0.0.251/", reason: "address of a local network"),
        Row(address: "https://255.255.255.255/", reason: "address of a local network"),
        Row(address: "https://[::1]/", reason: "address of a local network"),
        Row(address: "https://[::]/", reason: "address of a local network"),
        Row(address: "https://[fe80::1]/", reason: "address of a local network"),
        Row(address: "https://[fd12:3456::1]/", reason: "address of a local network"),
        Row(address: "https://[::ffff:7f00:1]/", reason: "address of a local network"),
        Row(address: "https://[64:ff9b::7f00:1]/", reason: "address of a local network"),
        Row(address: "https://[2002:7f00:1::]/", reason: "address of a local network"),
        Row(address: "https://[::ffff:127.0.0.1]/", reason: "no address"),
        Row(address: "https://[fe80::1%25eth0]/", reason: "disguise"),
        Row(address: "https://2130706433/", reason: "disguise"),
        Row(address: "https://0x7f000001/", reason: "disguise"),
        Row(address: "https://0x7f.0.0.1/", reason: "disguise"),
        Row(address: "https://0177.0.0.1/", reason: "disguise"),
        Row(address: "https://127.1/", reason: "disguise"),
        Row(address: "https://127.0.0.1./", reason: "disguise"),
        Row(address: "https://1.2.3.4.5/", reason: "disguise"),
        Row(address: "https://256.1.1.1/", reason: "disguise"),
        Row(address: "https://%6c%6fcalhost/", reason: "disguise"),
        Row(address: "https://\u{ff11}27.0.0.1/", reason: "letters"),
        Row(address: "https://\u{24db}ocalhost/", reason: "letters"),
        Row(address: "https://b\u{fc}cher.example/", reason: "letters"),
        Row(address: "https://example.com/\u{202e}gpj.exe", reason: "letters"),
        Row(address: "https://example.com\\@evil.example/", reason: "letters"),
        Row(address: "https://exa mple.com/", reason: "letters"),
        Row(address: "https://example.com/\n", reason: "letters"),
        Row(address: "https://under_score.example/", reason: "xn--"),
        Row(address: "https://-a.example/", reason: "xn--"),
        Row(address: "https://a..example/", reason: "xn--"),
        Row(address: "https://example.com:99999/", reason: "port"),
        Row(address: "https://example.com:+80/", reason: "port"),
        Row(
            address: "https://example.com/" + String(repeating: "a", count: 2029),
            reason: "2048 bytes"
        ),
    ]

    @Test("an address is taken or refused, with the reason — G25", arguments: rows)
    func addresses(_ row: Row) {
        do throws(CampaignError) {
            let activity = try CampaignActivity(extras: ["video_url": row.address], rules: .init())
            #expect(row.reason == nil, "it was taken")
            #expect(activity.url.absoluteString == row.address)
        } catch .rejected(_, let reason) {
            #expect(row.reason.map { reason.contains($0) } == true, "refused: \(reason)")
        } catch {
            Issue.record("\(error)")
        }
    }

    @Test("what a program allows is taken: other schemes, local networks, its own hosts alone")
    func rules() throws {
        var rules = CampaignRules()
        rules.allowLocal = true
        rules.schemes = ["http"]
        #expect(try rules.url("http://localhost:8080/").host == "localhost")
        #expect(try rules.url("http://127.0.0.1/").host == "127.0.0.1")
        #expect(throws: CampaignError.self) { try rules.url("http://2130706433/") }
        #expect(throws: CampaignError.self) { try rules.url("https://localhost/") }
        rules = CampaignRules()
        rules.hosts = ["video.example"]
        #expect(try rules.url("https://video.example/a").path == "/a")
        #expect(throws: CampaignError.self) {
            try rules.url("https://video.example.evil.example/a")
        }
    }

    @Test("what a name was resolved to is checked again")
    func resolved() {
        var rules = CampaignRules()
        #expect(rules.permits(resolved: "93.184.215.14"))
        #expect(rules.permits(resolved: "2606:2800:220:1::1"))
        for address in ["127.0.0.1", "::1", "fe80::1", "10.0.0.1", "nonsense", "", "1.2.3.4:5"] {
            #expect(!rules.permits(resolved: address), "\(address)")
        }
        rules.allowLocal = true
        #expect(rules.permits(resolved: "127.0.0.1"))
    }

    struct Title: CustomTestStringConvertible, Sendable {
        var given: String?
        var shown: String
        var testDescription: String { "\(given ?? "none") → \(shown)" }
    }

    static let titles = [
        Title(given: nil, shown: "Video Content"),
        Title(given: "", shown: "Video Content"),
        Title(given: " \u{202e}\u{7} ", shown: "Video Content"),
        Title(given: "Film \u{202e}4pm.exe\u{202c}", shown: "Film 4pm.exe"),
        Title(given: "a\u{2066}b\u{2069}c\u{200f}d\u{61c}e", shown: "abcde"),
        Title(given: "one\ntwo\u{1b}[31m", shown: "onetwo[31m"),
        Title(given: "👩‍👩‍👧 family", shown: "👩‍👩‍👧 family"),
        Title(given: String(repeating: "ä", count: 200), shown: String(repeating: "ä", count: 128)),
        Title(
            given: "a" + String(repeating: "ä", count: 200),
            shown: "a" + String(repeating: "ä", count: 127)
        ),
    ]

    @Test("a title is cleaned and cut between characters", arguments: titles)
    func title(_ row: Title) throws {
        var extras = ["video_url": "https://example.com/"]
        extras["video_title"] = row.given
        let activity = try CampaignActivity(extras: extras)
        #expect(activity.title == row.shown)
    }

    @Test("a campaign without an address says so")
    func missing() {
        #expect(throws: CampaignError.missing("video_url")) {
            try CampaignActivity(extras: ["video_title": "Film"])
        }
        #expect(throws: CampaignError.missing("video_url")) {
            try CampaignActivity(extras: ["video_url": ""])
        }
    }

    @Test("what a member sends is checked by the receiver's rules")
    func decoding() throws {
        let sound = try CampaignActivity(
            extras: ["video_url": "https://example.com/", "video_title": "Film"]
        )
        let bytes = try ActivityPayload.encode(sound)
        #expect(try ActivityPayload.decode(CampaignActivity.self, bytes) == sound)
        let evil = try ActivityPayload.encode(["video_url": "http://127.0.0.1/"])
        #expect(throws: CampaignError.self) {
            try ActivityPayload.decode(CampaignActivity.self, evil)
        }
        let bare = try ActivityPayload.encode(["video_url": "https://example.com/"])
        #expect(try ActivityPayload.decode(CampaignActivity.self, bare).title == "Video Content")
    }
}

/// The controller of a campaign's view, in a world that the test makes.
@Suite("A campaign's view — 40-groupactivities §9.7") @MainActor struct CampaignControllerTests {
    /// What the controller did, and what it is to find.
    @MainActor final class World {
        var answer = GroupActivityActivationResult.activationPreferred
        var isActivated = true
        var left = 0
        var activations = 0
        let (eligible, eligibility) = AsyncStream.makeStream(of: Bool.self)
        let (sessions, offers) = AsyncStream.makeStream(of: CampaignSteps.Found.self)
        /// Called on the way, before the answer is given.
        var onPrepare: @MainActor () -> Void = {}
        var onActivate: @MainActor () -> Void = {}

        func offer() {
            offers.yield(CampaignSteps.Found(session: nil, leave: { self.left += 1 }))
        }

        func controller(_ url: String = "https://example.com/") -> CampaignController {
            CampaignController(
                extras: ["video_url": url],
                rules: .init(),
                steps: CampaignSteps(
                    eligible: { self.eligible },
                    sessions: { _ in self.sessions },
                    prepare: { _ in
                        self.onPrepare()
                        return self.answer
                    },
                    activate: { _ in
                        self.activations += 1
                        self.onActivate()
                        return self.isActivated
                    }
                )
            )
        }

        /// Lets every task of the main actor run until it waits.
        func settle() async {
            for _ in 0..<20 { await Task.yield() }
        }
    }

    @Test("the button is shown where the campaign is valid and activities can be shared")
    func button() async {
        let world = World()
        let controller = world.controller()
        #expect(!controller.isShareButtonVisible)
        var shown: [Bool] = []
        let watch = controller.$isShareButtonVisible.sink { shown.append($0) }
        for isEligible in [true, true, false, true] {
            world.eligibility.yield(isEligible)
            await world.settle()
        }
        controller.dismiss()
        #expect(shown == [false, true, false, true, false])
        watch.cancel()
        let other = World()
        let refused = other.controller("http://example.com/")
        other.eligibility.yield(true)
        await other.settle()
        #expect(refused.activity == nil && !refused.isShareButtonVisible)
        guard case .rejected? = refused.error else {
            Issue.record("\(String(describing: refused.error))")
            return
        }
        #expect(await refused.start() == .nothing)
    }

    @Test("alone, together, or nothing, as the person says")
    func outcomes() async throws {
        let world = World()
        let controller = world.controller()
        let activity = try #require(controller.activity)
        world.answer = .activationDisabled
        #expect(await controller.start() == .local(activity))
        world.answer = .cancelled
        #expect(await controller.start() == .nothing)
        #expect(world.activations == 0)
        world.answer = .activationPreferred
        world.isActivated = false
        #expect(await controller.start() == .local(activity))
        world.isActivated = true
        #expect(await controller.start() == .group)
        #expect(world.activations == 2)
        #expect(world.left == 0)
    }

    @Test("dismissed: the session is left once, however often it is said")
    func dismissed() async {
        let world = World()
        let controller = world.controller()
        #expect(await controller.start() == .group)
        world.offer()
        await world.settle()
        controller.dismiss()
        controller.dismiss()
        await world.settle()
        #expect(world.left == 1)
        #expect(await controller.start() == .nothing)
    }

    @Test("dismissed during the activation: the session that comes afterwards is left once")
    func dismissedDuringActivation() async {
        let world = World()
        let controller = world.controller()
        world.onActivate = { controller.dismiss() }
        #expect(await controller.start() == .nothing)
        #expect(world.left == 0)
        world.offer()
        await world.settle()
        #expect(world.left == 1)
        world.offer()
        await world.settle()
        #expect(world.left == 1, "another one is somebody else's")
    }

    @Test("dismissed while the session comes, before the activation answers: left once")
    func dismissedBetween() async {
        let world = World()
        let controller = world.controller()
        world.onActivate = { world.offer() }
        async let outcome = controller.start()
        await world.settle()
        controller.dismiss()
        _ = await outcome
        await world.settle()
        #expect(world.left == 1)
    }

    @Test("dismissed while the person is asked: nothing is started, nothing is left")
    func dismissedDuringQuestion() async {
        let world = World()
        let controller = world.controller()
        world.onPrepare = { controller.dismiss() }
        #expect(await controller.start() == .nothing)
        world.offer()
        await world.settle()
        #expect(world.activations == 0)
        #expect(world.left == 0)
    }
}
