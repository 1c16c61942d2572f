# A host in the terminal: ruby agent_host.rb mcp.json
#
# It connects to every server in the configuration, lists their features, and calls the tools that the
# user names. Servers can ask the user in the terminal, and let the user log in with the browser.
require "json"
require "trunkline"

HELP = <<~TEXT
  NAME [JSON]          calls a tool, such as: weather__forecast {"city": "Oslo"}
  read URI             reads a resource
  prompt NAME [JSON]   gets a prompt
TEXT

def show(group)
  group.servers.each { |server| puts "#{server.name}: #{server.error ? server.error["message"] : server.state}" }
  group.list_tools.each { |tool| puts "tool #{tool.name}: #{tool.description}" }
  group.list_resources.each { |resource| puts "resource #{resource.uri}: #{resource.name}" }
  group.list_prompts.each { |prompt| puts "prompt #{prompt.name}: #{prompt.description}" }
end

def run(group, line)
  name, rest = line.split(" ", 2)
  case name
  when "read" then puts group.read_resource(rest.to_s).contents.map(&:to_json)
  when "prompt"
    name, rest = rest.to_s.split(" ", 2)
    group.get_prompt(name, JSON.parse(rest || "{}")).messages.each { |message| puts "#{message.role}: #{message.content.to_json}" }
  else
    group.call_tool(name, JSON.parse(rest || "{}")).content.each do |block|
      puts block.is_a?(Trunkline::TextContent) ? block.text : block.to_json
    end
  end
end

# The program uses the terminal only between calls; during calls, `terminal_forms` may.
options = { terminal_forms: true, auth: { client_name: "Agent host", store: "file" } }
Trunkline::ClientGroup.connect(ARGV.fetch(0), **options) do |group|
  show(group)
  puts HELP
  while print("> ") || (line = $stdin.gets)
    begin
      run(group, line.strip) unless line.strip.empty?
    rescue Trunkline::Error, JSON::ParserError => e
      puts "error: #{e.message}"
    end
  end
end
