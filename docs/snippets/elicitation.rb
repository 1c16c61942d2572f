# A tool that asks the user a question, and a client that answers it.
require "trunkline"

server = Trunkline::Server.new("restaurant", version: "1.0.0")

server.tool("book", description: "Book a table.") do |ctx|
  case ctx.elicit("A table for how many?", { people: Integer })
  in { action: "accept", content: } then "A table for #{content["people"]} is booked."
  else "Nothing was booked."
  end
end

ask = lambda do |request|
  puts request.message # here the user fills in the form of `request.requested_schema`
  Trunkline::ElicitResult.new(action: "accept", content: { people: 4 })
end

Trunkline::Client.connect(server: server, on_elicit: ask) do |client|
  puts client.call_tool("book").text
end
