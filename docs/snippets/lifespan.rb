# A server that opens a database before the first call and closes it after the last.
require "trunkline"

# Stands for the connection of a database's gem.
class Database
  def initialize(name)
    @name = name
    puts "#{name} opens"
  end

  def count = 7

  def close = puts("#{@name} closes")
end

server = Trunkline::Server.new("orders", version: "1.0.0", lifespan: -> { Database.new("orders") })

server.tool("count", description: "Count the orders.") { |ctx| ctx.lifespan.count }

Trunkline::Client.connect(server: server) do |client|
  puts client.call_tool("count").text
end
