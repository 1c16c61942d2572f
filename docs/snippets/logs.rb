# Log messages for the client, and the library's own log.
require "logger"
require "trunkline"

# Trunkline logs to standard error, or to a logger.
Trunkline.logger = Logger.new($stderr, level: Logger::WARN)

server = Trunkline::Server.new("backup", version: "1.0.0")

server.tool("backup", description: "Back up all files.") do |ctx|
  ctx.debug("looking for changes")
  ctx.info({ files: 3 }, logger: "copier")
  "done"
end

arrived = Thread::Queue.new
log = ->(message) { arrived << "#{message.level} of the #{message.logger}: #{message.data["files"]} files" }

Trunkline::Client.connect(server: server, log_level: "info", on_log: log) do |client|
  result = client.call_tool("backup")
  puts arrived.pop
  puts result.text
end
