# Table rows as resources: listed page by page and read on request.
require "trunkline"

ROWS = (1..5).to_h { |number| ["row #{number}", "value #{number}"] }
PAGE = 2

# Lists the rows, and reads one.
class Rows
  def list(cursor, _ctx)
    start = cursor.to_i
    items = ROWS.keys[start, PAGE].map { |name| { uri: "rows://#{name.delete_prefix("row ")}", name: name } }
    { items: items, nextCursor: (start + PAGE < ROWS.length ? (start + PAGE).to_s : nil) }
  end

  def get(params, _ctx) = ROWS["row #{params["uri"].delete_prefix("rows://")}"]
end

server = Trunkline::Server.new("table", version: "1.0.0")
server.provider("resources", Rows.new)

Trunkline::Client.connect(server: server) do |client|
  puts client.list_resources.map(&:name).join(", ")
  puts client.read_resource("rows://4").contents.first.text
end
