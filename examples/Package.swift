// swift-tools-version: 6.0
// The examples in Swift, each in one file of `swift`: `swift run server`
import PackageDescription

let programs = ["agent_host", "client", "hello_client", "hello_server", "server"]

let package = Package(
    name: "examples",
    platforms: [.macOS(.v13)],
    dependencies: [.package(path: "../bindings-uniffi/swift")],
    targets: programs.map { name in
        .executableTarget(
            name: name, dependencies: [.product(name: "Trunkline", package: "swift")], path: "swift",
            exclude: programs.filter { $0 != name }.map { "\($0).swift" })
    },
    swiftLanguageModes: [.v6]
)
