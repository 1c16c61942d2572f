# A prompt with arguments, one of them optional, and a client that gets it.
require "trunkline"

server = Trunkline::Server.new("review", version: "1.0.0")

server.prompt("review", description: "Review code.", arguments: { code: "The code to review" }) do |code:, focus: "errors"|
  [
    Trunkline.user("Review this code, above all for #{focus}: #{code}"),
    Trunkline.assistant("I will list each finding with its line.")
  ]
end

Trunkline::Client.connect(server: server) do |client|
  client.list_prompts.each do |prompt|
    needed = prompt.arguments.select(&:required).map(&:name)
    puts "#{prompt.name}: #{prompt.description} Needs #{needed.join(", ")}."
  end
  client.get_prompt("review", { code: "x = 1" }).messages.each do |message|
    puts "#{message.role}: #{message.content.text}"
  end
end
