# A tool that samples the client's model, and a client with a model.
require "trunkline"

server = Trunkline::Server.new("notes", version: "1.0.0")

server.tool("summarize", description: "Summarize a text.") do |ctx, text:|
  ctx.sample("Summarize in three words: #{text}", max_tokens: 50).text
end

sample = lambda do |request|
  puts "at most #{request.max_tokens} tokens" # here the host asks its model
  answer = Trunkline::TextContent.new(text: "Snow in Oslo")
  Trunkline::CreateMessageResult.new(role: "assistant", content: answer, model: "a-model")
end

Trunkline::Client.connect(server: server, on_sample: sample) do |client|
  puts client.call_tool("summarize", { text: "It has been snowing in Oslo since Monday." }).text
end
