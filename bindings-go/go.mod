module github.com/trunkline-mcp/trunkline/bindings-go

go 1.25.0

require github.com/ebitengine/purego v0.11.3
