# An agent skill: instructions served to clients, and a client that loads them.
require "trunkline"

MANIFEST = <<~TEXT
  ---
  name: packing
  description: How to pack for a trip.
  ---
  Ask for the forecast first.
TEXT

server = Trunkline::Server.new("trips", version: "1.0.0")
server.skill({ "SKILL.md" => MANIFEST }) # or the path of a folder

Trunkline::Client.connect(server: server) do |client|
  client.list_skills.each do |skill|
    puts "#{skill.frontmatter["name"]}: #{skill.frontmatter["description"]}"
    puts client.load_skill(skill).text.split("---").last.strip
  end
end
