import MeshSimulator
import Testing

/// What a wrong line is answered with.
@Suite("Scenario texts") struct ParserTests {
    static let head = "scenario t\nseed 3  nodes A B\n"

    struct Wrong: CustomTestStringConvertible, Sendable {
        var line: String
        var answer: String
        var testDescription: String { line }
    }

    static let wrong = [
        Wrong(line: "at soon A create", answer: "expected a time such as 40ms, found `soon`"),
        Wrong(line: "at 5 A create", answer: "expected a time such as 40ms, found `5`"),
        Wrong(
            line: "E create",
            answer: "expected a node, or one of expect, never, repeat, cut, heal, link, crash, "
                + "restart, pause, move, clock, drop, hold, release, forge, replay, found `E`"
        ),
        Wrong(
            line: "A invent",
            answer:
                "expected a verb: create, join, leave, adopt, kick, put, add, cas, read, start, end, "
                + "take, give, ack, found `invent`"
        ),
        Wrong(line: "A put k", answer: "expected a value, found the end of the line"),
        Wrong(
            line: "A put k 1 level some",
            answer: "expected sequenced, majority, all or durable, found `some`"
        ),
        Wrong(
            line: "A put k 1 -> fine",
            answer: "expected ok, refused, value or unanswered, found `fine`"
        ),
        Wrong(line: "A create now", answer: "expected nothing more, found `now`"),
        Wrong(line: "expect C role member", answer: "expected one of the nodes A B, found `C`"),
        Wrong(
            line: "expect all role king",
            answer: "expected joining, member, leader, suspended or left, found `king`"
        ),
        Wrong(
            line: "expect all view members A,X",
            answer: "expected processes such as A,B#2, found `A,X`"
        ),
        Wrong(line: "expect all views < 3", answer: "expected <=, >= or =, found `<`"),
        Wrong(
            line: "expect all role member for 3s",
            answer: "expected `within TIME` or nothing more, found `for`"
        ),
        Wrong(
            line: "never view-change in 9s..5s",
            answer: "expected a range such as 5s..65s, found `9s..5s`"
        ),
        Wrong(
            line: "expect all merge loser C",
            answer: "expected an epoch such as 2@A, found `C`"
        ),
        Wrong(
            line: "expect all outcome 3@A joined",
            answer: "expected a position such as 2@A:7, found `3@A`"
        ),
        Wrong(
            line: "expect all outcome 3@A:1 lost",
            answer: "expected applied, joined, superseded, conflict or duplicate, found `lost`"
        ),
        Wrong(
            line: "expect all conflict s/k kept 1",
            answer: "expected `lost VALUE`, found the end of the line"
        ),
        Wrong(line: "expect all conflicts 2", answer: "expected `none`, found `2`"),
        Wrong(line: "A ack", answer: "expected a key, found the end of the line"),
        Wrong(line: "cut A B", answer: "expected nothing more, found `B`"),
        Wrong(
            line: "cut A->C",
            answer: "expected a direction such as A->B or A<->B, found `A->C`"
        ),
        Wrong(line: "link * los 3%", answer: "los: unknown word; did you mean loss?"),
        Wrong(line: "pause A", answer: "expected `for TIME`, found the end of the line"),
        Wrong(line: "done", answer: "`done` without a `repeat`"),
        Wrong(line: "repeat 3 every 1s", answer: "this `repeat` has no `done`"),
        Wrong(line: "policy strict", answer: "expected `available` or `majority`, found `strict`"),
        Wrong(line: "seed many", answer: "expected a number, found `many`"),
    ]

    @Test("a wrong line is named, with what was expected", arguments: wrong)
    func errors(wrong: Wrong) {
        let error = #expect(throws: ScenarioSyntaxError.self) {
            try Scenario(parsing: Self.head + wrong.line + "\n")
        }
        #expect(error?.line == 3)
        #expect(error?.reason == wrong.answer)
    }

    @Test("a text without nodes or a name is none")
    func incomplete() {
        #expect(throws: ScenarioSyntaxError.self) { try Scenario(parsing: "scenario t\n") }
        #expect(throws: ScenarioSyntaxError.self) { try Scenario(parsing: "nodes A\n") }
    }

    @Test("in a repeat a key's @ is the number of the round, and x*3 is xxx")
    func rounds() throws {
        let text =
            Self.story + "at 1s repeat 3 every 10ms\n A put r@ x*3 -> ok\n done\n"
            + "expect all value r1 xxx, r3 xxx, r4 none within 500ms\n"
        let report = try Scenario(parsing: text.replacing("end expect", with: "expect")).run()
        #expect(report.failure == nil, "\(report.failure?.description ?? "")")
    }

    @Test("what is not so is told with its line, and the transcript ends there")
    func failures() throws {
        let text = Self.story.replacing("value k 7", with: "value k 8")
        let report = try Scenario(parsing: text).run()
        let failure = try #require(report.failure)
        #expect(failure.line == 6)
        #expect(failure.statement == "expect all value k 8 within 500ms")
        #expect(failure.reason.hasSuffix("A has 7 in k; B has 7 in k"))
        #expect(report.transcript.last?.contains("FAILED line 6") == true)
    }

    @Test("a never that comes true names its own line")
    func bans() throws {
        let text = Self.story.replacing("role left", with: "role member")
        let failure = try #require(try Scenario(parsing: text).run().failure)
        #expect(failure.line == 4)
    }

    static let wrongMerges = [
        Wrong(line: "merge loser 4@A", answer: "A was told of 1 merges: winner 3@A loser 3@B"),
        Wrong(line: "outcome 3@B:4 conflict", answer: "A was told applied of 3@B:4"),
        Wrong(line: "outcome 9@B:4 applied", answer: "A was told nothing of 9@B:4"),
        Wrong(line: "conflicts none", answer: "A there are no sessions"),
    ]

    @Test("what was told of a merge stands in the answer to a wrong fact", arguments: wrongMerges)
    func merges(wrong: Wrong) throws {
        let text = """
            scenario t
            seed 3  nodes A B  link * delay 2ms
            at 0ms A create -> ok; B join via A -> ok
            at 1s cut A | B
               expect B view members B usable within 2s
               A put a 1 -> ok; B put b 1 -> ok
            at 4s heal
               expect all value a 1, b 1 within 4s
               expect all \(wrong.line)
            """
        let failure = try #require(try Scenario(parsing: text).run().failure)
        #expect(failure.line == 9)
        #expect(failure.reason.contains(wrong.answer), "\(failure)")
    }

    @Test("the transcript stands below ---- and is compared with what is told")
    func golden() throws {
        let scenario = try Scenario(parsing: Self.story)
        #expect(scenario.transcript == nil)
        let report = scenario.run()
        let whole = scenario.text(transcript: report.transcript)
        let again = try Scenario(parsing: whole)
        #expect(again.transcript == report.transcript.joined(separator: "\n"))
        #expect(again.text(transcript: again.run().transcript) == whole)
    }

    static let story = """
        scenario t
        seed 3  nodes A B  link * delay 2ms
        at 0ms A create -> ok
           never role left                   # the claim of this story
        at 10ms B join via A -> ok; B put k 7 -> ok 2@A:3
           expect all value k 7 within 500ms
        end expect all same-hash

        """
}
