# A test of a tool that asks the user, with scripted answers.
require "trunkline"

# Reruns handlers that ask, on every revision: this reveals effects before a question.
server = Trunkline::Server.new("restaurant", version: "1.0.0", rerun_handlers: true)

server.tool("book", description: "Book a table.") do |ctx|
  answer = ctx.elicit("A table for how many?", { people: Integer })
  answer.content ? "A table for #{answer.content["people"]} is booked." : "Nothing was booked."
end

answers = [Trunkline::ElicitResult.new(action: "accept", content: { people: 4 }), Trunkline::ElicitResult.new(action: "decline")]
asked = []
ask = lambda do |request|
  asked << request.message
  answers.shift
end

Trunkline::Client.connect(server: server, on_elicit: ask, raise_exceptions: true) do |client|
  ["A table for 4 is booked.", "Nothing was booked."].each do |expected|
    raise "a wrong answer" unless client.call_tool("book").text == expected
  end
end
raise "asked #{asked}" unless asked == ["A table for how many?"] * 2 && answers.empty?

puts "all passed"
