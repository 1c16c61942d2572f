// swift-tools-version: 6.0
import PackageDescription

// On Linux, the native library is one of the system: `pkg-config` knows where `scripts/install.sh`
// has put it. On Apple's platforms it is an XCFramework, made by `scripts/xcframework.sh` or
// downloaded from a release.
#if os(Linux)
    let native: Target = .systemLibrary(name: "TrunklineFFI", path: "Sources/TrunklineFFI/generated", pkgConfig: "trunkline-uniffi")
#else
    let native: Target = .binaryTarget(name: "TrunklineFFI", path: "TrunklineFFI.xcframework")
#endif

let package = Package(
    name: "trunkline",
    platforms: [.macOS(.v13), .iOS(.v16)],
    products: [.library(name: "Trunkline", targets: ["Trunkline"])],
    targets: [
        native,
        .target(
            name: "TrunklineNative", dependencies: ["TrunklineFFI"],
            linkerSettings: ["CoreFoundation", "Security", "SystemConfiguration"].map { framework in
                .linkedFramework(framework, .when(platforms: [.macOS, .iOS]))
            }),
        .target(name: "Trunkline", dependencies: ["TrunklineNative"]),
        .testTarget(name: "TrunklineTests", dependencies: ["Trunkline"]),
    ],
    swiftLanguageModes: [.v6]
)
