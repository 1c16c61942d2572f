# frozen_string_literal: true

require_relative "helper"

class TestFeatures < TrunklineTest
  def test_resources_and_templates
    client = connected do |server|
      server.resource("test://text", mime_type: "text/plain") { "text" }
      server.resource("test://bytes") { "\xff\x00".b }
      server.resource_template("note://{name}", name: "note", complete: { name: ->(start) { %w[one other].grep(/\A#{start}/) } }) { |name:, uri:| name == "none" ? nil : "#{name} #{uri}" }
    end
    assert_equal "text", client.read_resource("test://text").contents.first.text
    assert_equal "\xff\x00".b, client.read_resource("test://bytes").contents.first.bytes
    assert_equal "one note://one", client.read_resource("note://one").contents.first.text
    assert_raises(Trunkline::ProtocolError) { client.read_resource("note://none") }
    assert_equal %w[test://text test://bytes], client.list_resources.map(&:uri)
    assert_equal ["note://{name}"], client.list_resource_templates.map(&:uri_template)
    reference = Trunkline::ResourceTemplateReference.new(uri: "note://{name}")
    assert_equal ["one"], client.complete(reference, { name: "name", value: "on" }).completion.values
  end

  def test_prompts
    client = connected do |server|
      server.prompt("greet", description: "Greets", arguments: { name: "Who" }) { |name:, loudly: nil| "Hello, #{name}#{"!" if loudly}" }
      server.prompt("talk") { [Trunkline.user("Hi"), Trunkline.assistant("Hello")] }
      server.prompt("silence") { [] }
    end
    assert_empty client.get_prompt("silence").messages
    assert_equal "Hello, you", client.get_prompt("greet", { name: "you" }).messages.first.content.text
    arguments = client.list_prompts.first.arguments
    assert_equal [["name", "Who", true], ["loudly", nil, false]], arguments.map { |one| [one.name, one.description, one.required] }
    assert_equal %w[user assistant], client.get_prompt("talk").messages.map(&:role)
    assert_raises(Trunkline::ProtocolError) { client.get_prompt("greet") }
  end

  def test_completions_know_the_other_arguments
    client = connected do |server|
      server.prompt("trip", arguments: { country: nil, city: nil }) { |country:, city:| "#{country} #{city}" }
      server.completion(Trunkline::PromptReference.new(name: "trip"), :city) { |start, known| ["#{start}#{known[:country]}"] }
    end
    known = Trunkline::CompleteContext.new(arguments: { country: "no" })
    found = client.complete(Trunkline::PromptReference.new(name: "trip"), Trunkline::CompleteArgument.new(name: "city", value: "os"), known)
    assert_equal ["osno"], found.completion.values
  end

  def test_skills_and_directories
    Dir.mktmpdir do |folder|
      File.write(File.join(folder, "a.txt"), "text")
      client = connected do |server|
        server.skill({ "SKILL.md" => "---\nname: one\ndescription: A skill.\n---\nRead.\n", "data.bin" => "\xff".b })
        server.directory("file:///docs", folder)
      end
      skill = client.list_skills.first
      assert_match(/Read/, client.load_skill(skill).text)
      assert_equal "\xff".b, client.read_skill_file(skill, "data.bin").bytes
      assert_equal "text", client.read_resource("file:///docs/a.txt").contents.first.text
    end
  end

  def test_servers_and_clients_can_be_mounted
    inner = Trunkline::Server.new("inner", version: "1")
    inner.tool("echo") { |text:| text }
    client = connected { |server| server.mount("in", inner) }
    assert_equal "x", client.call_tool("in__echo", { text: "x" }).text
    proxied = connected { |server| server.proxy(client, prefix: "out") }
    assert_equal "x", proxied.call_tool("out__in__echo", { text: "x" }).text
  ensure
    proxied&.close
    inner&.close
  end

  def test_a_store_is_checked_before_anything_opens
    output, errors, = run_program('require "trunkline"; p Trunkline::Server.new("x", version: "1", store: "memory:").check_store')
    assert_equal "[]\n", output, errors
  end

  def test_custom_stores
    store = Object.new
    def store.get(_key) = raise(Trunkline::StoreError, "offline")
    %i[put put_if remove append read].each { |name| store.define_singleton_method(name) { |*| raise "offline" } }
    assert_match(/offline|unavailable/, Trunkline.check_store(store).join)
    error = assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Server.new("x", version: "1", store: Object.new) }
    assert_match(/put_if/, error.message)
  end
end
