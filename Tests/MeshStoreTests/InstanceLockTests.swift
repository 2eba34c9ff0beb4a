import Glibc
import MeshStore
import Testing

@Suite("One node per identity")
struct InstanceLockTests {
    @Test("a second node of the same key file is refused with the process of the first")
    func refused() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let path = "\(scratch.path)/identity.key"
        var first: InstanceLock? = try InstanceLock(keyFile: path)
        let lockPath = try #require(first?.path)
        let error = #expect(throws: InstanceLockError.self) { try InstanceLock(keyFile: path) }
        #expect(error == .held(process: getpid(), path: lockPath))
        #expect(error?.description.contains("process \(getpid()) ") == true)
        let other = try InstanceLock(keyFile: "\(scratch.path)/other.key")
        #expect(other.path != lockPath)
        first = nil
        let again = try InstanceLock(keyFile: path)
        #expect(again.path == lockPath)
    }

    @Test("a lock file left over by a process that is gone means nothing")
    func leftOver() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let path = "\(scratch.path)/identity.key"
        writeFile("\(path).lock", Array("999999999\n".utf8))
        let lock = try InstanceLock(keyFile: path)
        #expect(readFile(lock.path) == Array("\(getpid())\n".utf8))
    }

    @Test("a lock file that is a link is not followed")
    func link() throws {
        let scratch = Scratch()
        defer { scratch.remove() }
        let path = "\(scratch.path)/identity.key"
        let target = "\(scratch.path)/precious"
        writeFile(target, [1, 2, 3])
        symlink(target, "\(path).lock")
        #expect(throws: InstanceLockError.self) { try InstanceLock(keyFile: path) }
        #expect(readFile(target) == [1, 2, 3])
    }

    @Test("hardening forbids core files")
    func hardening() async {
        await #expect(processExitsWith: .success) {
            #expect(ProcessHardening.apply())
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(4), &limit)
            #expect(limit.rlim_cur == 0)
            #expect(limit.rlim_max == 0)
        }
    }
}
