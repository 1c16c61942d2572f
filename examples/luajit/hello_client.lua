-- Starts the server next to it and calls its tool.
local trunkline = require("trunkline")

-- A server that is started inherits few variables; others are named.
local client = trunkline.connect([[{
  "command": "luajit",
  "args": ["hello_server.lua"],
  "env": {"PKG_CONFIG_PATH": "${PKG_CONFIG_PATH:-}"}
}]])
print(trunkline.text_at(client:call_tool("hello", '{"name": "Ada"}'), "/content/0/text"))
print(trunkline.text_at(client:call_tool("hello", '{"name": "nobody"}'), "/content/0/text"))

local waiting = 3
for _, name in ipairs({"Bo", "Cy", "Di"}) do
  client:start("tools/call", '{"name": "hello", "arguments": {"name": "' .. name .. '"}}', function(json, problem)
    print(problem or trunkline.text_at(json, "/content/0/text"))
    waiting = waiting - 1
  end)
end
while waiting > 0 do client:dispatch(1000) end

print(select(2, pcall(client.call_tool, client, "hello", "[1]")))
