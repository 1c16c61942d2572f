# A server that changes its features at run time, for everyone or per caller.
require "trunkline"

server = Trunkline::Server.new("shop", version: "1.0.0")

price = server.tool("price", description: "The price of an article.", timeout: 2) { |article:| "#{article}: 5" }

# With access tokens: `ctx.auth`.
staff = ->(ctx) { ctx.client_info&.name == "staff" }
server.tool("discount", description: "Lower a price.", visible: staff) { |article:| "#{article} is cheaper now" }

show_tools = lambda do |name|
  Trunkline::Client.connect(server: server, info: { name: name, version: "1.0.0" }) do |client|
    puts "#{name}: #{client.list_tools.map(&:name).join(" ")}"
  end
end

show_tools.call("staff")
show_tools.call("guest")
price.update(description: "The price of an article, in euros.")
price.disable
show_tools.call("staff")
price.enable
