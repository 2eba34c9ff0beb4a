/// The commands of `huddle`, in the order of its help.
///
/// Usage texts, parsing, suggestions and (later) man pages and completions all come from here.
let commandTable: [CommandSpecification] = [
    CommandSpecification(
        name: "demo",
        summary: "the whole story on this machine, real processes, about 12 s",
        discussion: [
            "Starts five nodes on loopback, each a process with a home of its own, and checks every "
                + "claim it prints. Nothing is left behind, however it ends, unless --keep asks for it.",
            "exit: 0 every claim held, 1 one did not (it says which), 130 or 143 if stopped.",
        ],
        options: [
            jsonOption,
            .value("--fault", "TEXT", "the links' conditions (default 'loss 5% delay 20ms')"),
            .flag("--keep", "keep the nodes' folder, for reading their logs"),
            .value("--seconds", "S", "how long it sends (default: 3; tcp 20 a figure, soak 600)"),
            .value("--rate", "M", "of tcp: Mbit/s of the link (default: 100, then 10)"),
        ],
        isOfNode: false,
        body: DemoCommand.run
    ),
    CommandSpecification(
        name: "up",
        summary: "start a node; make a room or resume the last one",
        discussion: [
            "Runs in the foreground until Ctrl-C, or with --detach until 'huddle down'. Without "
                + "--room it resumes the stored room, and makes one if there is none.",
            "A room follows one policy for ever. available: every side of a split goes on, and a merge "
                + "joins them. majority: only the side with more than half of the members goes on; the "
                + "others take no writes.",
            "The text of --fault is 'loss 5% delay 20ms'; see 'huddle fault --help'.",
        ],
        examples: [
            "huddle up --detach",
            "huddle up --room kitchen --name anna",
        ],
        options: [
            .value("--room", "NAME", "make a new room of this name"),
            .value("--policy", "POLICY", "of the new room: available (default) or majority"),
            .value("--survivor", "TIME", "majority: go on without it after so long, such as 30s"),
            .value("--name", "NAME", "what the others see, from now on (default: user@host)"),
            .value("--port", "PORT", "UDP port of the data socket (default: any free one)"),
            .value("--fault", "TEXT", "impair this node's own links", repeatable: true),
            .flag("--detach", "run in the background; return when the node is ready"),
            .flag("--no-room", "make and resume no room: wait for 'huddle join'"),
            .flag("--loopback", "stay on this machine: no other interface is used"),
            jsonOption,
            .value("--ready-descriptor", "N", "write one JSON line there when ready", hidden: true),
            .value("--parent", "PID", "end when this parent process ends", hidden: true),
        ],
        body: UpCommand.run
    ),
    CommandSpecification(
        name: "invite",
        summary: "a short code and a link for one guest",
        discussion: [
            "Code and link admit one guest together: using one burns both. They end after 10 minutes, "
                + "after 5 wrong guesses, or with --close."
        ],
        options: [
            .flag("--link", "print the link alone"),
            .flag("--code", "print the code alone"),
            .flag("--wait", "stay until the guest has come"),
            .flag("--close", "close the open invitations"),
            jsonOption,
        ],
        body: InviteCommand.run
    ),
    CommandSpecification(
        name: "join",
        operands: "CODE|LINK",
        summary: "enter a room with a code or a link",
        discussion: [
            "A code works on the local network without any address; --at gives one where multicast "
                + "does not reach. Secrets can stay out of the argument list: --link-file, --link-fd, or "
                + "the prompt, which comes if nothing is given."
        ],
        examples: [
            "huddle join 07-4K9QXMC",
            "huddle join 07-4K9QXMC --at 192.168.1.20:41002",
            "huddle join --link-file ~/link.txt",
        ],
        operandCount: 0...1,
        options: [
            .value("--at", "ADDRESS", "ask this address too, besides looking around"),
            .value("--link-file", "FILE", "read the link or code from a file"),
            .value("--link-fd", "N", "read the link or code from an open descriptor"),
            jsonOption,
        ],
        body: JoinCommand.run
    ),
    CommandSpecification(
        name: "status",
        summary: "this node, its room, who leads, which sessions run",
        options: [jsonOption],
        body: StatusCommand.run
    ),
    CommandSpecification(
        name: "peers",
        summary: "the others: address, round trip, loss",
        options: [jsonOption],
        body: PeersCommand.run
    ),
    CommandSpecification(
        name: "sessions",
        summary: "what the room does together: activities, who takes part, who leads",
        options: [jsonOption],
        body: SessionsCommand.run
    ),
    CommandSpecification(
        name: "start",
        operands: "IDENTIFIER [KEY=VALUE...]",
        summary: "start an activity for the programs that know it",
        discussion: [
            "IDENTIFIER is the activityIdentifier of a SharePlay program; what stands behind it are the "
                + "fields of its activity, as text. --payload has the whole value as JSON, also nested. "
                + "Programs of the room that listen for it are offered the session. An activity that runs "
                + "ends, unless it is the same one."
        ],
        examples: [
            "huddle start org.example.watch movieID=12 --title 'Film night'",
            "huddle start org.example.quiz --payload quiz.json",
        ],
        operandCount: 1...64,
        options: [
            .value("--title", "TITLE", "what people are shown, at most 256 bytes"),
            .value("--payload", "FILE", "the activity's value as JSON; - reads the standard input"),
            jsonOption,
        ],
        body: StartCommand.run
    ),
    CommandSpecification(
        name: "open",
        operands: "[SESSION]",
        summary: "where to go without the program: a session's web address",
        discussion: [
            "Shows the address that an activity names for those who lack its program, and opens it by "
                + "xdg-open once you say yes. It comes from another member: read it first. Only https is "
                + "opened. SESSION is an activity's identifier or the beginning of a session's; it may be left "
                + "out if one session has an address."
        ],
        operandCount: 0...1,
        options: [.flag("--yes", "open it without a question"), jsonOption],
        body: OpenCommand.run
    ),
    CommandSpecification(
        name: "notices",
        operands: "[accept|decline [NUMBER]]",
        summary: "what others told the room that they did; their invitations",
        discussion: [
            "Without a word it lists the newest notices. accept and decline answer an invitation: the "
                + "newest, or that of the number given. An activity starts when the first one accepts."
        ],
        operandCount: 0...2,
        verbs: ["accept", "decline"],
        options: [jsonOption],
        body: NoticesCommand.run
    ),
    CommandSpecification(
        name: "chat",
        operands: "[TEXT]",
        summary: "say something to the room, or talk",
        discussion: [
            "With TEXT it sends that, says who got it and ends; it waits 30 s for an answer at most, "
                + "5 s where somebody is away. Without, it shows what is said as it comes and sends "
                + "every line you type, until Ctrl-D or Ctrl-C."
        ],
        examples: ["huddle chat 'dinner is ready'"],
        operandCount: 0...1,
        options: [jsonOption],
        body: ChatCommand.run
    ),
    CommandSpecification(
        name: "values",
        operands: "get|set|list|delete|watch|conflicts [KEY [VALUE]]",
        summary: "the room's shared values, with compare-and-set",
        discussion: [
            "get KEY · set KEY VALUE · list · delete KEY · watch [KEY]. Every write has a revision; with "
                + "--if-revision, --expect or --if-absent a write happens only if the value is still "
                + "what you saw, otherwise the exit code is 1 and nothing changed.",
            "conflicts · conflicts ack [KEY]. After a split that healed, the list shows what both sides had "
                + "changed and no rule could join: the value that was kept, the one that was lost, who wrote "
                + "them. 'ack' settles one of them for everybody and leaves the value as it is.",
        ],
        examples: [
            "huddle values set colour red",
            "huddle values set colour blue --expect red",
            "huddle values conflicts ack colour",
        ],
        operandCount: 1...3,
        verbs: ["get", "set", "list", "delete", "watch", "conflicts"],
        options: [
            .value("--if-revision", "REVISION", "only if the value has this revision"),
            .value("--expect", "VALUE", "only if the value is this one"),
            .flag("--if-absent", "only if there is no such value yet"),
            .value(
                "--about",
                "SUBJECT",
                "conflicts ack: value (default), activity, ending or session"
            ),
            .flag(
                "--local",
                "get, list, conflicts: this node's own state, without asking the leader"
            ),
            .value("--session", "NAME", "values of another session (default: room)"),
            jsonOption,
        ],
        body: ValuesCommand.run
    ),
    CommandSpecification(
        name: "adopt",
        summary: "make this side of a split the room, when the others are gone for good",
        discussion: [
            "For a side that is not the primary one, or that is suspended because the room follows the "
                + "majority. If the others come back after all, both sides are merged and theirs wins: "
                + "'huddle values conflicts' lists what could not be joined."
        ],
        options: [jsonOption],
        body: AdoptCommand.run
    ),
    CommandSpecification(
        name: "leave",
        summary: "leave the room for good; the node stays up",
        options: [jsonOption],
        body: LeaveCommand.run
    ),
    CommandSpecification(
        name: "down",
        summary: "stop the node; it resumes its room at the next 'up'",
        options: [jsonOption],
        body: DownCommand.run
    ),
    CommandSpecification(
        name: "fault",
        operands: "set|clear|list [TEXT]",
        summary: "impair the running node's own links",
        discussion: [
            "TEXT is a list of words: loss 5%, loss_burst 3, delay 20ms, rtt 40ms, jitter 5ms, duplicate "
                + "1%, reorder 2%, corrupt 1%, rate 10Mbit/s, queue 25pkt, mtu 1280B, down. Without --to "
                + "it holds for every link; --cut makes the given peers unreachable in both directions. "
                + "A peer is a name, a fingerprint or its beginning, an address, or a port."
        ],
        examples: [
            "huddle fault set 'loss 5% delay 20ms'",
            "huddle fault set --cut 192.168.1.20:41002",
            "huddle fault clear",
        ],
        operandCount: 1...2,
        verbs: ["set", "clear", "list"],
        options: [
            .value("--to", "PEER", "only this address, port or fingerprint", repeatable: true),
            .value("--cut", "PEER", "cut this address, port or fingerprint off", repeatable: true),
            jsonOption,
        ],
        body: FaultCommand.run
    ),
    CommandSpecification(
        name: "keys",
        operands: "[new|path|verify FINGERPRINT]",
        summary: "this machine's fingerprint and key file",
        discussion: [
            "Without a word it shows the fingerprint. 'new' makes the key file where there is none; "
                + "it never replaces one. 'verify' compares the fingerprint of a peer, given in full, "
                + "with the members of the room."
        ],
        operandCount: 0...14,
        verbs: ["new", "path", "verify"],
        options: [jsonOption],
        body: KeysCommand.run
    ),
    CommandSpecification(
        name: "sim",
        operands: "--seeds A..B …",
        summary: "deterministic fault injection; 'huddle sim --help' says more",
        isOpaque: true,
        body: { invocation in SimCommand.run(arguments: invocation.operands) }
    ),
    CommandSpecification(
        name: "bench",
        operands: "WHAT",
        summary: "measure failover, the codec, activities, or the lanes of the transport",
        discussion: [
            "failover: starts nodes on loopback, each a process with a home of its own, kills the leader "
                + "with SIGKILL, times the next write that a survivor accepts, starts the dead node again, "
                + "and so on. No process is left, however it ends.",
            "The distance of Kolmogorov and Smirnov is 0 if processes and simulator agree, 1 if they "
                + "have nothing in common.",
            "coding: times the message codec beside JSON on the same values; best of several rounds.",
            "activities: times GroupActivities between two nodes on loopback, beside the lanes below it.",
            "bulk, messages, fast, ping: the lanes between two nodes on loopback, beside what plain UDP does in "
                + "the same run.",
            "thin, lossy: a thin stream and a bulk transfer over links that lose packets, in virtual time; the "
                + "same everywhere.",
            "handshake, memory, fanout: ends of the transport on loopback: the time to the first byte, what "
                + "an end of a connection holds, one message to 2, 8, 32 and 63 peers.",
            "tcp: a bulk transfer over a slow link of 20 ms made of network namespaces, alone, beside TCP CUBIC, "
                + "and while the link becomes ten times slower; needs root or 'unshare -Urn', ip and tc.",
            "soak: 64 connections over loopback while some leave and others come; checks that every message "
                + "arrives once and in order, and prints what that costs in memory.",
        ],
        examples: ["huddle bench failover --nodes 3,5 --trials 100", "huddle bench coding --json"],
        operandCount: 1...1,
        verbs: BenchCommand.verbs,
        options: [
            .value("--nodes", "N,N", "sizes of the room (default: 3,5,16)"),
            .value("--trials", "T", "how often the leader is killed (default: 20)"),
            .value("--loss", "P", "percent of the datagrams that are lost (default: 0)"),
            .flag("--keep", "keep the nodes' folder, for reading their logs"),
            .value("--seconds", "S", "how long it sends (default: 3; tcp 20 a figure, soak 600)"),
            .value("--rate", "M", "of tcp: Mbit/s of the link (default: 100, then 10)"),
            .flag("--journal", "of activities: an attachment of 100 MB"),
            jsonOption,
        ],
        isOfNode: false,
        body: BenchCommand.run
    ),
    CommandSpecification(
        name: "help",
        operands: "[COMMAND]",
        summary: "this text, or a command's",
        operandCount: 0...1,
        isOfNode: false,
        body: HelpCommand.run
    ),
]
