# frozen_string_literal: true

require_relative "helper"

# Mistakes in definitions and calls: the errors name them, and what is valid.
class TestDefinitions < TrunklineTest
  def refusal(&block) = assert_raises(Trunkline::InvalidArgumentError, &block).message

  def server = @server ||= Trunkline::Server.new("x", version: "1").tap { |one| (@opened ||= []) << one }

  # Each list has the names that are taken elsewhere as well.
  def test_lists_of_valid_options_are_complete
    connect = ->(**options) { Trunkline::Client.connect(server: server, **options) }
    group = ->(**options) { Trunkline::ClientGroup.connect({}, **options) }
    client = connect.call.tap { |one| @opened << one }
    auth = { resource: "https://a.example", authorization_servers: ["https://b.example"] }
    handlers = %w[on_elicit on_sample on_log on_notification]
    {
      ->(name) { server.tool("a", name => 1) { "" } } => %w[description input output title annotations icons meta visible task scopes timeout],
      ->(name) { server.resource("a://b", name => 1) { "" } } => %w[name description mime_type visible ttl],
      ->(name) { server.resource("a://{b}", name => 1) { "" } } => %w[name description mime_type visible ttl complete],
      ->(name) { server.prompt("a", name => 1) { "" } } => %w[arguments description complete visible scopes],
      ->(name) { server.skill({ "SKILL.md" => "" }, name => 1) } => %w[root ttl scope],
      ->(name) { server.directory("a://b", ".", name => 1) } => %w[hidden max_file_bytes],
      ->(name) { server.proxy(client, name => 1) } => %w[prefix max_connections],
      ->(name) { server.request_handler("a/b", name => 1) { {} } } => %w[params scopes],
      ->(name) { Trunkline::Server.new("x", version: "1", name => 1) } => %w[title instructions store on_error lifespan page_size],
      ->(name) { server.listen(name => 1) } => %w[auth port allowed_hosts],
      ->(name) { server.rack_app(name => 1) } => %w[auth path allowed_hosts],
      ->(name) { server.listen(auth: { **auth, name => 1 }) } => %w[resource verifier issuer],
      ->(name) { connect.call(name => 1) } => ["auth", "raise_exceptions", "command", "url", "server", "env", "headers", "log_level", *handlers],
      ->(name) { group.call(name => 1) } => ["auth", "env", "headers", *handlers],
      ->(name) { connect.call(auth: { name => 1 }) } => %w[client_id],
      ->(name) { client.on(name) { 1 } } => %w[on_elicit on_log],
      ->(name) { client.list_tools(name => 1) } => %w[timeout fresh],
      ->(name) { client.list_tools_page(name => 1) } => %w[timeout fresh meta],
      ->(name) { client.call_tool("a", {}, name => 1) } => %w[timeout meta raise_on_error],
      ->(name) { client.start_task("a", {}, name => 1) } => %w[timeout]
    }.each do |use, valid|
      found = refusal { use.call(:nonsense) }
      list = found[/valid (?:option|handler)s are (.*)/, 1].to_s.scan(/`(\w+)`/).flatten
      assert_match(/\Aunknown (option|handler) `nonsense`/, found)
      assert_empty valid - list, found
      assert_equal list.uniq, list
    end
  end

  def test_the_option_that_was_meant_is_suggested
    { descripton: "description", imput: "input", outptu: "output", visibel: "visible" }.each { |wrong, right| assert_match(/`#{wrong}`: did you mean `#{right}`\?/, refusal { server.tool("a", wrong => 1) { "" } }) }
    assert_match(/did you mean `arguments`\?/, refusal { server.prompt("a", argumetns: {}) { "" } })
    assert_match(/did you mean `on_elicit`\?/, refusal { Trunkline::Client.connect(server: server, on_elicti: -> {}) })
    assert_match(/did you mean `raise_on_error`\?/, refusal { Trunkline::Client.connect(server: server) { |client| client.call_tool("a", {}, raise_on_eror: true) } })
  end

  def test_arguments_without_braces_are_explained
    server.tool("a") { |x:| x }
    Trunkline::Client.connect(server: server) do |client|
      { call_tool: "a", get_prompt: "a", start_task: "a" }.each do |method, name|
        assert_match(/\Aunknown option `x`: arguments go in a Hash, as in `#{method}\("name", \{ x: … \}\)`; valid options are/, refusal { client.public_send(method, name, x: 1) })
      end
    end
  end

  def test_keywords_that_the_block_would_never_get_are_refused
    assert_match(/keyword `nam:`.*URI has no variable `nam`/, refusal { server.resource("note://{name}") { |nam:| nam } })
    assert_match(/no variable `name`/, refusal { server.resource("note://name") { |name:| name } })
    assert_match(/no argument `citty`/, refusal { server.prompt("a", arguments: [{ name: "city" }]) { |citty:| citty } })
    schema = { type: "object", properties: { city: {} } }
    assert_match(/input lacks citty/, refusal { server.tool("a", input: schema) { |citty:| citty } })
    # Here it may get it.
    server.resource("x://{+path}{?page,size*}{&q:3}") { |path:, page:, size:, q:, uri:| [path, page, size, q, uri] }
    server.resource("x://y") { |uri:| uri }
    server.tool("any", input: { type: "object" }) { |any:| any }
    server.tool("more", input: schema.merge(patternProperties: { "^x" => {} })) { |x:| x }
    server.tool("rest", input: schema) { |city: 1, **rest| [city, rest] }
  end

  def test_arguments_that_only_the_block_requires_are_named
    server.tool("a", input: { type: "object", properties: { city: {} } }) { |city:| city }
    server.resource("x://y{?page}") { |page:| page }
    server.request_handler("com.acme/x", params: { type: "object" }) { |of:| of }
    Trunkline::Client.connect(server: server) do |client|
      result = client.call_tool("a")
      assert result.is_error
      assert_match(/argument `city` is missing/, result.text)
      { "page" => -> { client.read_resource("x://y") }, "of" => -> { client.request("com.acme/x", {}) } }.each do |name, use|
        error = assert_raises(Trunkline::ProtocolError, &use)
        assert_match(/argument `#{name}` is missing/, error.message)
        assert_equal(-32602, error.code)
      end
    end
  end

  def test_a_member_of_an_output_may_be_called_type
    own = { "type" => "object", "properties" => { "type" => { "type" => "string" }, "id" => { "type" => "integer" } }, "required" => %w[type id] }
    {
      { type: String, id: Integer } => own, { type: %w[a b] } => { "type" => "object", "properties" => { "type" => { "type" => "string", "enum" => %w[a b] } }, "required" => ["type"] },
      { type: "object", properties: { a: {} } } => { "type" => "object", "properties" => { "a" => {} } }, { type: "integer" } => "wrapped", { "type" => %w[string null] } => "wrapped"
    }.each_with_index do |(output, expected), index|
      server.tool(index.to_s, output: output) { { type: "a", id: 1 } }
      found = Trunkline::Client.connect(server: server) { |client| client.list_tools.find { |tool| tool.name == index.to_s }.output_schema }
      expected == "wrapped" ? assert_equal(["result"], found["properties"].keys) : assert_equal(expected, found)
    end
  end

  def test_numbers_have_the_class_of_their_type_at_every_depth
    deep = Trunkline::Schema.object({ count: Integer, price: Float, any: Numeric, list: [Integer], inner: Trunkline::Schema.object({ days: 1..7 }) }, optional: [:any])
    json = { type: "object", properties: { n: { type: "integer" }, x: { "type" => "number", description: "x" }, list: { type: "array", items: { type: "number" } }, one: { anyOf: [{ type: "integer" }, { type: "null" }] } } }
    value = { count: 2.0, price: 1, any: 5, list: [1.0], inner: { days: 3.0 } }
    expected = { "count" => 2, "price" => 1.0, "any" => 5, "list" => [1], "inner" => { "days" => 3 } }
    seen = Thread::Queue.new
    server.tool("take", input: { deep: deep, list: [deep], json: json, described: { type: "number", description: "x" }, either: [deep, NilClass] }) { |**all| seen << all and "" }
    server.tool("whole", input: json) { |**all| seen << all and "" }
    Trunkline::Client.connect(server: server) do |client|
      given = { n: 1.0, x: 1, list: [1, 2.5], one: 2.0 }
      refute client.call_tool("take", { deep: value, list: [value], json: given, described: 1, either: value }).is_error
      # Because 2 == 2.0.
      assert_equal({ deep: expected, list: [expected], json: { "n" => 1, "x" => 1.0, "list" => [1.0, 2.5], "one" => 2 }, described: 1.0, either: expected }.inspect, seen.pop.inspect)
      refute client.call_tool("whole", given).is_error
      assert_equal({ n: 1, x: 1.0, list: [1.0, 2.5], one: 2 }.inspect, seen.pop.inspect)
    end
  end

  # The examples of comments, except those that serve or connect.
  def test_examples_in_comments_run
    examples = Dir["#{LIB}/**/*.rb"].flat_map { |file| File.read(file).scan(/# @example\n((?: *#   .*\n)+)/).flatten }
    examples = examples.map { |text| text.gsub(/^ *#   /, "") }.grep_v(/connect|serve_|listen/)
    assert_operator examples.length, :>=, 3
    logger = Object.new
    examples.each { |text| eval(text, binding.tap { |one| one.local_variable_set(:server, server) and one.local_variable_set(:logger, logger) }) } # rubocop:disable Security/Eval
  end

  # A caller may send many.
  def test_names_of_unknown_arguments_do_not_become_symbols
    names = Array.new(3) { |n| "unknown_#{n}_#{Process.pid}" }
    arguments = names.to_h { |name| [name, 1] }
    server.tool("open", input: { type: "object" }) { |a: 1| a.to_s }
    server.prompt("p", arguments: { a: "", b: "" }, complete: { a: ->(_, known) { known.keys.map(&:to_s) } }) { |a:, b:| a + b }
    Trunkline::Client.connect(server: server) do |client|
      server.prompt("q") { |a:| a }
      server.completion(Trunkline::PromptReference.new(name: "q"), "a") { |_, known| [known.length.to_s, known.count { |_, value| value.nil? }.to_s] }
      assert_equal "2", client.call_tool("open", { "a" => 2, **arguments }).text
      found = client.complete(Trunkline::PromptReference.new(name: "p"), { name: "a", value: "" }, { arguments: { "b" => "1", **arguments.transform_values(&:to_s) } })
      assert_equal ["b"], found.completion.values
      many = Array.new(500) { |n| ["many_#{n}", "1"] }.to_h
      found = client.complete(Trunkline::PromptReference.new(name: "q"), { name: "a", value: "" }, { arguments: many })
      assert_equal %w[100 0], found.completion.values
    end
    assert_empty Symbol.all_symbols.map(&:name) & names
  end
end
