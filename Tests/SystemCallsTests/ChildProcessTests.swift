import Testing

@testable import SystemCalls

@Suite struct ChildProcessTests {
    @Test func `its exit code is told, and a signal is none`() throws {
        #expect(try ChildProcess("/bin/sh", ["-c", "exit 7"]).waitForExit() == 7)
        #expect(try ChildProcess("/bin/sh", ["-c", "kill -9 $$"]).waitForExit() == nil)
    }

    @Test func `it has the environment that it is given and no other`() throws {
        let script = "test \"$WORD\" = here && test -z \"$HOME\""
        #expect(try ChildProcess("/bin/sh", ["-c", script], environment: ["WORD": "here"]).waitForExit() == 0)
    }

    @Test func `a program that does not exist is an error with the system's words`() {
        #expect(throws: SystemCallError(.spawn, number: 2)) { try ChildProcess("/does/not/exist", []) }
        #expect(SystemCallError(.spawn, number: 2).description == "No such file or directory")
    }

    @Test func `one that has ended is not asked to end`() throws {
        let ended = try ChildProcess("/bin/true", [])
        _ = ended.waitForExit()
        ended.terminate()
        let waits = try ChildProcess("/bin/sleep", ["60"], isQuiet: true)
        waits.terminate()
        #expect(waits.waitForExit() == nil)
    }

    @Test func `the running program is known by its path`() throws {
        let path = try #require(ChildProcess.ownPath)
        #expect(FileStatus(path: path)?.isRegular == true)
    }
}
