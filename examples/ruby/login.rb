# Lists the tools of a server over HTTP that requires a login: opens the browser and stores the tokens.
require "trunkline"

auth = { client_name: "Tool list", store: "file" }
Trunkline::Client.connect(url: ARGV.fetch(0), auth: auth) { |client| puts client.list_tools.map(&:name) }
