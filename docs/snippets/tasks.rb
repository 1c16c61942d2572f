# A tool called as a task: the client follows its status, then gets the result.
require "trunkline"

server = Trunkline::Server.new("reports", version: "1.0.0", task_poll_interval: 0.05)

server.tool("report", description: "Write the report of a year.", input: { year: Integer }, task: "optional") do |ctx, year:|
  ctx.task_message = "half of it is written"
  ctx.sleep(0.1)
  "The report of #{year}"
end

Trunkline::Client.connect(server: server) do |client|
  client.start_task("report", { year: 2026 }) do |task|
    puts task.map(&:status).last # with `status_message`, for people
    puts task.result.text
  end
end
