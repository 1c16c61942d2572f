module bench

go 1.25.0

require github.com/trunkline-mcp/trunkline/bindings-go v0.1.0

require github.com/ebitengine/purego v0.11.3 // indirect

replace github.com/trunkline-mcp/trunkline/bindings-go => ../../bindings-go
