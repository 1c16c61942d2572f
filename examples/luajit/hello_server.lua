-- A server with one tool, over stdio.
local trunkline = require("trunkline")

local server = trunkline.server("hello", "1.0.0")
server:tool(
  [[{
    "name": "hello",
    "description": "Greets someone.",
    "inputSchema": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
  }]],
  function(call)
    local name = trunkline.text(call, "/name")
    if name == "nobody" then error("Nobody is not there.", 0) end
    return "Hello, " .. name .. "!"
  end
)
server:serve_stdio()
