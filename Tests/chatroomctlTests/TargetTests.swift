import Foundation
import Testing

@testable import ControlClient
@testable import chatroomctl

@Suite final class TargetTests {
    private let directory: URL

    init() throws {
        directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(
            at: directory.appendingPathComponent("deep/er"), withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    private func write(_ text: String, to path: String, mode: Int = 0o600) throws -> String {
        let file = directory.appendingPathComponent(path)
        try FileManager.default.createDirectory(
            at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(text.utf8).write(to: file)
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file.path)
        return file.path
    }

    private func writeCluster() throws {
        let text = #"""
            {"adminKey":"file-key","tokenKey":{"kid":"k","secret":"s"},"nodes":[
            {"id":"n1","client":"127.0.0.1:1","api":"127.0.0.1:7401","link":"127.0.0.1:2","pid":1,"data":"d"},
            {"id":"n2","client":"127.0.0.1:3","api":"127.0.0.1:7411","link":"127.0.0.1:4","pid":2,"data":"e"}]}
            """#
        _ = try write(text, to: ".run/cluster.json")
    }

    private func find(server: String? = nil, keyFile: String? = nil, _ environment: [String: String] = [:]) throws
        -> Target
    {
        try Target.find(
            server: server, keyFile: keyFile, environment: environment,
            directory: directory.appendingPathComponent("deep/er"))
    }

    private func code(_ body: () throws -> Void) -> CommandFailure.Code? {
        do {
            try body()
            return nil
        } catch { return (error as? CommandFailure)?.code }
    }

    @Test func `without anything the default address is asked and no key is known`() throws {
        let target = try find()
        #expect(target.servers == ["127.0.0.1:7401"])
        #expect(target.adminKey == nil)
    }

    @Test func `the cluster's file is found above the current directory`() throws {
        try writeCluster()
        let target = try find()
        #expect(target.servers == ["127.0.0.1:7401", "127.0.0.1:7411"])
        #expect(target.adminKey == "file-key")
        #expect(target.nodes.map(\.id) == ["n1", "n2"])
    }

    @Test func `the command line goes before the environment and that before the file`() throws {
        try writeCluster()
        let environment = [Target.serverVariable: "h:1", Target.keyVariable: "env-key"]
        #expect(try find(environment).servers == ["h:1"])
        #expect(try find(environment).adminKey == "env-key")
        #expect(try find(server: "g:2", environment).servers == ["g:2"])
        let keyFile = try write(" secret\n", to: "key")
        #expect(try find(keyFile: keyFile, environment).adminKey == "secret")
    }

    @Test func `the file's key is not sent to servers that are not of its cluster`() throws {
        try writeCluster()
        #expect(try find(server: "elsewhere:7401").adminKey == nil)
        #expect(try find([Target.serverVariable: "elsewhere:7401"]).adminKey == nil)
        #expect(try find(server: "http://127.0.0.1:7411/").adminKey == "file-key")
    }

    @Test(arguments: [0o644, 0o640, 0o604, 0o660])
    func `a key file that others can read is refused`(mode: Int) throws {
        let keyFile = try write("secret", to: "key", mode: mode)
        #expect(code { _ = try find(keyFile: keyFile) } == .usage)
    }

    @Test func `an absent or empty key file is refused`() throws {
        #expect(code { _ = try find(keyFile: directory.appendingPathComponent("none").path) } == .usage)
        let empty = try write(" \n", to: "empty")
        #expect(code { _ = try find(keyFile: empty) } == .usage)
    }

    @Test func `a broken cluster file is told and not passed over`() throws {
        _ = try write("{", to: ".run/cluster.json")
        #expect(code { _ = try find() } == .usage)
    }

    @Test(arguments: [
        "", "host", "host:", ":1", "host:0", "host:65536", "host:x", "a:b:1", "https://h", "ftp://h:1", "h:1/x",
        "u@h:1", "[::1]",
    ])
    func `what is not host and port is refused`(text: String) {
        #expect(code { _ = try Target.address(text) } == .usage)
    }

    @Test func `addresses of version 6 are written in brackets`() throws {
        #expect(try Target.address("[::1]:7401") == "[::1]:7401")
        #expect(try Target.address("https://h:1/") == "https://h:1")
    }
}
