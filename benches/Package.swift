// swift-tools-version: 6.0
// The server and the client in Swift, each in one file of `swift`.
import Foundation
import PackageDescription

// Also the commands that `cargo xtask bench` writes.
let files = try! FileManager.default.contentsOfDirectory(atPath: "\(Context.packageDirectory)/swift")

let package = Package(
    name: "benches",
    platforms: [.macOS(.v13)],
    dependencies: [.package(path: "../bindings-uniffi/swift")],
    targets: ["server", "client"].map { role in
        .executableTarget(
            name: "bench-\(role)", dependencies: [.product(name: "Trunkline", package: "swift")], path: "swift",
            exclude: files.filter { $0 != "\(role).swift" })
    },
    swiftLanguageModes: [.v6]
)
