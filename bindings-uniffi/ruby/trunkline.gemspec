# frozen_string_literal: true

require_relative "lib/trunkline/generated/waist"

# A gem for one platform, whose native library is in `lib`: TRUNKLINE_PLATFORM names it, such as
# `x86_64-linux`.
Gem::Specification.new do |spec|
  spec.name = "trunkline"
  spec.version = Trunkline::VERSION
  spec.summary = "Servers and clients of the Model Context Protocol"
  spec.description = "Servers and clients of the Model Context Protocol in all its revisions, over a core in Rust."
  spec.authors = ["The Trunkline authors"]
  spec.licenses = ["MIT", "Apache-2.0"]
  spec.homepage = "https://github.com/trunkline-mcp/trunkline"
  spec.metadata = { "rubygems_mfa_required" => "true", "documentation_uri" => "https://trunkline-mcp.github.io/trunkline/" }
  spec.platform = ENV.fetch("TRUNKLINE_PLATFORM", Gem::Platform.local.to_s)
  spec.required_ruby_version = ">= 3.1"
  spec.files = Dir["lib/**/*.{rb,so,dylib,dll}", "sig/**/*.rbs", "README.md", "LICENSE-*", base: __dir__]
  spec.add_dependency "ffi", "~> 1.15"
end
