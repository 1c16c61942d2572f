# Suggestions for a prompt argument while the user types.
require "trunkline"

CITIES = %w[Oslo Osaka Rome].freeze

server = Trunkline::Server.new("trips", version: "1.0.0")

cities = ->(text) { CITIES.select { |city| city.start_with?(text) } }
server.prompt("packing", description: "List the things to pack for a city.", complete: { city: cities }) do |city:|
  "Write a packing list for #{city}."
end

Trunkline::Client.connect(server: server) do |client|
  prompt = Trunkline::PromptReference.new(name: "packing")
  result = client.complete(prompt, { name: "city", value: "Os" })
  puts result.completion.values.join(", ")
end
