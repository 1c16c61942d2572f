// swift-tools-version: 6.0
// A program that gets the package as a user does. `cargo xtask test --lang swift --only "swift
// package"` lets Git take a repository of its own for that of the package.
import PackageDescription

let package = Package(
    name: "program",
    platforms: [.macOS(.v13)],
    dependencies: [.package(url: "https://github.com/trunkline-mcp/trunkline-swift", from: "0.1.0")],
    targets: [
        .executableTarget(
            name: "program", dependencies: [.product(name: "Trunkline", package: "trunkline-swift")], path: ".",
            sources: ["main.swift"])
    ]
)
