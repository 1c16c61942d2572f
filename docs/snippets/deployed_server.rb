# A server for containers: configured by environment variables, stopped by SIGTERM.
require "socket"
require "trunkline"

# On shutdown, calls get 20 s; other workers take over the sessions through the store.
server = Trunkline::Server.new("greeter", version: "1.0.0", store: ENV["STORE"], drain_deadline: 20)

server.tool("greet", description: "Greet someone.") { |name:| "Hello, #{name}, from #{Socket.gethostname}!" }

# Listens on all addresses of the container, with probes at /healthz and /readyz.
server.serve_http(host: "0.0.0.0", port: ENV.fetch("PORT", "8000").to_i, health: true)
