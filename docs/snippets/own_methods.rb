# A vendor-specific method, and a client that calls it.
require "trunkline"

server = Trunkline::Server.new("sums", version: "1.0.0")

server.request_handler("com.acme/sum", params: { terms: [Integer] }) do |ctx, terms:|
  ctx.progress(1, total: 1)
  { sum: terms.sum }
end

Trunkline::Client.connect(server: server) do |client|
  puts client.request("com.acme/sum", { terms: [1, 2, 39] })["sum"]
end
