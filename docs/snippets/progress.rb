# A tool that reports progress, and a client that cancels another one.
require "timeout"
require "trunkline"

server = Trunkline::Server.new("files", version: "1.0.0")

server.tool("copy", description: "Copy files.", input: { files: Integer }) do |ctx, files:|
  1.upto(files) { |number| ctx.progress(number, total: files, message: "file #{number}") }
  "#{files} files are copied."
end

stopped = Thread::Queue.new
server.tool("watch", description: "Watch a folder until the caller cancels.") do |ctx|
  ctx.sleep(3600)
ensure
  puts "stopped watching"
  stopped << true
end

Trunkline::Client.connect(server: server) do |client|
  result = client.call_tool("copy", { files: 2 }) do |report|
    # Reports may be skipped if they arrive too fast, except the last.
    puts "#{report.progress.to_i} of #{report.total.to_i}: #{report.message}" if report.progress == report.total
  end
  puts result.text
  begin
    Timeout.timeout(1) { client.call_tool("watch") }
  rescue Timeout::Error
    stopped.pop
  end
end
