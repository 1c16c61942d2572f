-- A small binding of libtrunkline for LuaJIT: servers with tools, and clients that call them.
local ffi = require("ffi")
-- LuaJIT must not compile calls of C functions that run callbacks.
jit.off(true, true)

local function installed(variable)
  local pipe = io.popen("pkg-config --variable=" .. variable .. " trunkline")
  local value = pipe:read("*l")
  pipe:close()
  return assert(value, "pkg-config does not find trunkline: set PKG_CONFIG_PATH")
end

-- The header declares itself: without its preprocessor lines, everything from its first type to its
-- inline functions is what ffi.cdef takes.
local function declare(path)
  local file = assert(io.open(path))
  local header = file:read("*a"):gsub("\r", "")
  file:close()
  local first, last = header:find("typedef enum", 1, true), header:find("#ifndef TRUNKLINE_H_FORMATTED", 1, true)
  header = header:sub(first, last - 1):gsub("\n#[^\n]*", ""):gsub('\nextern "C" {', ""):gsub("\n}  // extern[^\n]*", "")
  ffi.cdef(header)
end

declare(installed("includedir") .. "/trunkline.h")
local lib = ffi.load(installed("libdir") .. "/libtrunkline." .. (ffi.os == "OSX" and "dylib" or "so"))

-- The Lua string must stay alive for as long as C uses this: keep it in a local variable.
local function str(text)
  return ffi.new("trunkline_str", text, #text)
end

local function lua(text)
  return ffi.string(text.data, text.len)
end

-- A text of which this program is the owner.
local function taken(text)
  local copy = lua(lib.trunkline_text_str(text))
  lib.trunkline_text_free(text)
  return copy
end

-- Calls a function whose last argument is an error pointer.
local function check(name, ...)
  local failure = ffi.new("trunkline_error *[1]")
  local arguments = {...}
  local count = select("#", ...)
  arguments[count + 1] = failure
  if tonumber(lib["trunkline_" .. name](unpack(arguments, 1, count + 1))) ~= 0 then
    local message = ffi.string(lib.trunkline_error_message(failure[0]))
    lib.trunkline_error_free(failure[0])
    error(message, 0)
  end
end

-- The object that such a function makes, and the function that frees it.
local function made(kind, name, ...)
  local place = ffi.new("trunkline_" .. kind .. " *[1]")
  local arguments = {...}
  local count = select("#", ...)
  arguments[count + 1] = place
  check(name, unpack(arguments, 1, count + 1))
  return ffi.gc(place[0], lib["trunkline_" .. kind .. "_free"])
end

-- Callbacks are few in LuaJIT, and are never freed here: one of each type serves all, and the
-- number in user_data identifies the Lua function. An error must not leave a callback.
local functions, last = {}, 0

local function keep(fn)
  last = last + 1
  functions[last] = fn
  return ffi.cast("void *", last)
end

local function number_of(user_data)
  return tonumber(ffi.cast("intptr_t", user_data))
end

local on_call = ffi.cast("trunkline_call_callback", function(call, user_data)
  local ok, answer = pcall(functions[number_of(user_data)], call)
  answer = tostring(answer)
  if ok then
    lib.trunkline_call_return_text(call, str(answer))
  else
    lib.trunkline_call_fail_tool(call, str(answer))
  end
end)

local on_reply = ffi.cast("trunkline_reply_callback", function(result, json, failure, user_data)
  local problem = failure ~= nil and ffi.string(lib.trunkline_error_message(failure)) or nil
  local number = number_of(user_data)
  local done = functions[number]
  functions[number] = nil -- a reply arrives once
  local ok, reason = pcall(done, lua(json), problem)
  if not ok then io.stderr:write(reason, "\n") end
end)

local Server = {}
Server.__index = Server

function Server:tool(descriptor, handler)
  check("server_add_tool", self.handle, str(descriptor), on_call, keep(handler), nil)
end

function Server:serve_stdio()
  check("server_serve_stdio", self.handle)
end

local Client = {}
Client.__index = Client

-- The result as JSON.
function Client:call_tool(name, arguments)
  local result = ffi.new("trunkline_text *[1]")
  check("client_call_tool", self.handle, str(name), str(arguments), nil, result)
  return taken(result[0])
end

-- `done(json, problem)` runs inside `dispatch`.
function Client:start(method, params, done)
  check("client_start", self.handle, str(method), str(params), nil, on_reply, keep(done), nil, nil)
end

-- Runs what is due; waits for the first callback at most so long. An event loop gives 0, when
-- trunkline_port_descriptor is readable.
function Client:dispatch(timeout_ms)
  check("dispatch", lib.trunkline_client_port(self.handle), timeout_ms, nil)
end

return {
  server = function(name, version)
    return setmetatable({handle = made("server", "server_new", str(name), str(version))}, Server)
  end,
  -- An entry of mcpServers, as JSON.
  connect = function(config)
    return setmetatable({handle = made("client", "client_connect_config", str(config), nil)}, Client)
  end,
  -- The text at a JSON pointer in the arguments of a call.
  text = function(call, pointer)
    return lua(lib.trunkline_call_text(call, str(pointer), str("")))
  end,
  -- The text at a JSON pointer in JSON.
  text_at = function(json, pointer)
    local text = ffi.new("trunkline_text *[1]")
    if tonumber(lib.trunkline_json_get_text(str(json), str(pointer), text)) ~= 0 then return nil end
    return taken(text[0])
  end,
}
