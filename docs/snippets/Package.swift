// swift-tools-version: 6.0
// The programs in Swift that the pages show, each in one file: `swift run tools`
import Foundation
import PackageDescription

let files = try! FileManager.default.contentsOfDirectory(atPath: Context.packageDirectory)
let programs = files.filter { $0.hasSuffix(".swift") && $0 != "Package.swift" }

let package = Package(
    name: "snippets",
    platforms: [.macOS(.v13)],
    dependencies: [.package(path: "../../bindings-uniffi/swift")],
    targets: programs.sorted().map { file in
        .executableTarget(
            name: String(file.dropLast(".swift".count)), dependencies: [.product(name: "Trunkline", package: "swift")],
            path: ".", exclude: files.filter { $0 != file })
    },
    swiftLanguageModes: [.v6]
)
