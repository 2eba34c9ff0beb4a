import Glibc

// Every call of this module into C that takes a pointer: the one file here, beside `ChildProcess`
// and `Signals`, that holds `unsafe`.

/// Writes all of `bytes`; what a closed reader misses is lost.
func writeAll(_ bytes: some Collection<UInt8>, to descriptor: Int32) {
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes {
            unsafe write(descriptor, $0.baseAddress, $0.count)
        }
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return }
        rest = rest.dropFirst(count)
    }
}

/// Reads what is there, waiting for the first byte; empty at the end, `nil` if reading failed.
func readSome(_ descriptor: Int32, limit: Int = 4096) -> [UInt8]? {
    var buffer = [UInt8](repeating: 0, count: limit)
    while true {
        let count = unsafe buffer.withUnsafeMutableBytes {
            unsafe read(descriptor, $0.baseAddress, $0.count)
        }
        if count < 0, errno == EINTR { continue }
        return count < 0 ? nil : Array(buffer[..<count])
    }
}

/// Waits until one of the descriptors has something to read, or was closed; which ones are.
func waitReadable(_ descriptors: [Int32], within timeout: Duration) -> [Bool] {
    var entries = descriptors.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    let milliseconds = Int32(
        clamping: (timeout.components.seconds * 1000)
            + timeout.components.attoseconds / 1_000_000_000_000_000
    )
    _ = unsafe poll(&entries, nfds_t(entries.count), milliseconds)
    return entries.map { $0.revents != 0 }
}

/// Opens a file for reading; `nil` with `errno` set if that fails.
func openForReading(_ path: String) -> Int32? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    return descriptor < 0 ? nil : descriptor
}

/// A pipe, reading end first, that no child inherits by accident.
func makePipe() throws(Failure) -> (reading: Int32, writing: Int32) {
    var ends: [Int32] = [0, 0]
    guard unsafe pipe(&ends) == 0 else {
        throw Failure("system", "cannot make a pipe: \(systemMessage(errno))")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return (ends[0], ends[1])
}

/// Makes a directory and its parents, each 0700; what fails shows when the directory is used.
func makeDirectories(_ path: String) {
    var made = ""
    for part in path.split(separator: "/") {
        made += "/" + part
        _ = unsafe mkdir(made, 0o700)
    }
}

/// Why no file can be made in the directory, in the system's words; `nil` if one can.
func whyNotWritable(_ directory: String) -> String? {
    unsafe access(directory, W_OK | X_OK) == 0 ? nil : systemMessage(errno)
}

/// A new directory of mode 0700 below `folder`, its name beginning with `prefix`.
func makeTemporaryDirectory(in folder: String, prefix: String) throws(Failure) -> String {
    var template = Array("\(folder)/\(prefix)XXXXXX".utf8CString)
    guard unsafe mkdtemp(&template) != nil else {
        throw Failure("system", "cannot make a folder in \(folder): \(systemMessage(errno))")
    }
    return String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
}

/// The value of an environment variable; an empty one counts as unset.
func environment(_ name: String) -> String? {
    guard let value = unsafe getenv(name) else { return nil }
    let text = unsafe String(cString: value)
    return text.isEmpty ? nil : text
}

/// Every variable of this process's environment, as `NAME=value`.
func wholeEnvironment() -> [String] {
    var variables: [String] = []
    var index = 0
    while true {
        guard let entry = unsafe environ[index] else { return variables }
        variables.append(unsafe String(cString: entry))
        index += 1
    }
}

/// The machine's name up to the first dot.
func hostName() -> String {
    var buffer = [CChar](repeating: 0, count: 256)
    _ = unsafe gethostname(&buffer, buffer.count - 1)
    let bytes = buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:))
    let name = String(decoding: bytes, as: UTF8.self)
    return name.split(separator: ".").first.map(String.init) ?? "huddle"
}

/// The path of this program.
let executable: String = {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = unsafe readlink("/proc/self/exe", &buffer, buffer.count - 1)
    guard count > 0 else { return CommandLine.arguments.first ?? "huddle" }
    return String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
}()

/// What the system calls the error `code`.
func systemMessage(_ code: Int32) -> String {
    unsafe String(cString: strerror(code))
}

/// Overwrites this process's arguments behind the command's name, where others could read them.
func overwriteArguments() {
    for index in 2..<max(2, Int(CommandLine.argc)) {
        guard let argument = unsafe CommandLine.unsafeArgv[index] else { continue }
        _ = unsafe memset(argument, 0x2a, strlen(argument))
    }
}

/// Runs `body` while the terminal shows nothing of what is typed.
func withoutEcho<Result>(_ body: () -> Result) -> Result {
    var before = termios()
    guard unsafe tcgetattr(0, &before) == 0 else { return body() }
    var silent = before
    silent.c_lflag &= ~tcflag_t(ECHO)
    _ = unsafe tcsetattr(0, TCSAFLUSH, &silent)
    defer { _ = unsafe tcsetattr(0, TCSAFLUSH, &before) }
    return body()
}

/// Seconds of processor time of this process so far, user and system.
func processorTime() -> Double {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return seconds(usage.ru_utime) + seconds(usage.ru_stime)
}
