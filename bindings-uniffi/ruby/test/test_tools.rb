# frozen_string_literal: true

require "set"
require_relative "helper"

class TestTools < TrunklineTest
  def test_blocks_get_arguments_as_keywords
    client = connected { |server| server.tool("add", input: { a: Integer, b: Integer }) { |a:, b: 10| a + b } }
    assert_equal "3", client.call_tool("add", { a: 1, b: 2 }).text
    assert_equal "11", client.call_tool("add", { a: 1 }).text
    schema = client.list_tools.first.input_schema
    assert_equal({ "type" => "object", "properties" => { "a" => { "type" => "integer" }, "b" => { "type" => "integer" } }, "required" => ["a"], "additionalProperties" => false }, schema)
  end

  def test_misspelled_arguments_are_refused
    client = connected do |server|
      server.tool("typed", input: { a: Integer }) { |a: 1| a }
      server.tool("untyped") { |a: 1| a }
      server.tool("rest", input: { a: Integer }) { |a: 1, **rest| [a, rest] }
      server.tool("schema", input: { type: "object", properties: { a: {} } }) { |a: 1| a }
    end
    %w[typed untyped].each do |name|
      result = client.call_tool(name, { b: 2 })
      assert result.is_error, name
      assert_match(/b/, result.text)
    end
    %w[rest schema].each { |name| refute client.call_tool(name, { b: 2 }).is_error, name }
  end

  def test_the_signature_is_the_schema_without_types
    client = connected { |server| server.tool("any") { |ctx, one:, two: nil| "#{one} #{two.inspect} #{ctx.name}" } }
    assert_equal "1 nil any", client.call_tool("any", { one: 1 }).text
    assert_equal ["one"], client.list_tools.first.input_schema["required"]
  end

  def test_arguments_that_do_not_match_are_refused
    client = connected { |server| server.tool("add", input: { a: Integer }) { |a:| a } }
    result = client.call_tool("add", { a: "x" })
    assert result.is_error
    assert_match(/integer/, result.text)
  end

  def test_numbers_have_the_class_of_their_type
    types = { float: Float, integer: Integer, range: 0.0..1.0, days: 1..7, list: [Float], either: [Integer, NilClass], number: Numeric, mixed: [Integer, Hash], schema: { type: "integer" } }
    values = { float: 1, integer: 2.0, range: 1, days: 3.0, list: [1, 2.5], either: 4.0, number: 5, mixed: {}, schema: 6.0 }
    expected = { float: 1.0, integer: 2, range: 1.0, days: 3, list: [1.0, 2.5], either: 4, number: 5, mixed: {}, schema: 6 }
    seen = Thread::Queue.new
    client = connected do |server|
      server.tool("take", input: types) { |**all| seen << all; "" }
      server.request_handler("com.acme/take", params: { of: Float }) { |of:| { half: of / 2 } }
    end
    refute client.call_tool("take", values).is_error
    # Because 2 == 2.0.
    assert_equal expected.inspect, seen.pop.inspect
    refute client.call_tool("take", { **values, integer: 1e300 }).is_error
    assert_equal 10**300, seen.pop[:integer].round(-290)
    assert_equal 0.5, client.request("com.acme/take", { of: 1 })["half"]
  end

  def test_a_rest_parameter_opens_the_schema
    client = connected do |server|
      server.tool("all") { |**args| args }
      server.tool("some") { |city:, **rest| { city: city, **rest } }
    end
    assert_equal({ "a" => 1 }, JSON.parse(client.call_tool("all", { a: 1 }).text))
    assert_equal({ "city" => "Oslo", "b" => 2 }, JSON.parse(client.call_tool("some", { city: "Oslo", b: 2 }).text))
    assert client.call_tool("some", { b: 2 }).is_error
    assert_equal [nil, ["city"]], client.list_tools.map { |tool| tool.input_schema["required"] }
  end

  def test_all_keywords_are_passed_to_a_rest_parameter
    schema = { type: "object", properties: { "odd name" => { type: "string" } } }
    client = connected { |server| server.tool("rest", input: schema) { |**all| all } }
    assert_equal({ "odd name" => "x" }, JSON.parse(client.call_tool("rest", { "odd name" => "x" }).text))
  end

  def test_methods_and_lambdas_are_handlers
    client = connected do |server|
      server.tool("method", &method(:triple))
      server.tool("lambda", &->(ctx, word:) { "#{word} #{ctx.name}" })
    end
    assert_equal "6", client.call_tool("method", { number: 2 }).text
    assert_equal "a lambda", client.call_tool("lambda", { word: "a" }).text
  end

  def triple(number:) = number * 3

  def test_results_are_content_or_json
    client = connected do |server|
      server.tool("text") { "ä" }
      server.tool("nothing") { nil }
      server.tool("hash") { { a: [1, :b] } }
      server.tool("mixed") { ["text", Trunkline::ImageContent.new(data: "\x89".b, mime_type: "image/png")] }
      server.tool("whole") { Trunkline::CallToolResult.new(content: [Trunkline::TextContent.new(text: "x")], is_error: true) }
    end
    assert_equal "ä", client.call_tool("text").text
    assert_empty client.call_tool("nothing").content
    assert_equal '{"a":[1,"b"]}', client.call_tool("hash").text
    mixed = client.call_tool("mixed").content
    assert_equal %w[Trunkline::TextContent Trunkline::ImageContent], mixed.map { |block| block.class.name }
    assert_equal "\x89".b, mixed.last.bytes
    assert client.call_tool("whole").is_error
  end

  def test_outputs_are_structured
    client = connected do |server|
      server.tool("object", output: { city: String }) { { city: "Oslo" } }
      server.tool("number", output: Integer) { 5 }
      server.tool("wrong", output: { city: String }) { { city: 1 } }
    end
    assert_equal({ "city" => "Oslo" }, client.call_tool("object").structured_content)
    assert_equal({ "result" => 5 }, client.call_tool("number").structured_content)
    assert client.call_tool("wrong").is_error
  end

  def test_errors_reach_the_caller_or_the_log
    seen = Thread::Queue.new
    client = connected({}, { on_error: ->(error, ctx) { seen << [error.message, ctx.class] } }) do |server|
      server.tool("tool_error") { raise Trunkline::ToolError, "no such city" }
      server.tool("protocol_error") { raise Trunkline::ProtocolError.new("no", code: 7, data: { a: 1 }) }
      server.tool("bug") { raise "secret" }
      server.tool("unfit") { Float::NAN }
    end
    logged do |records|
      assert_equal "no such city", client.call_tool("tool_error").text
      error = assert_raises(Trunkline::ProtocolError) { client.call_tool("protocol_error") }
      assert_equal [7, { "a" => 1 }], [error.code, error.data]
      refute_match(/secret/, client.call_tool("bug").text)
      assert_match(/the tool "bug" failed.*secret/m, records.pop)
      assert_equal ["secret", Trunkline::Context], seen.pop
      assert client.call_tool("unfit").is_error
      assert_raises(Trunkline::ToolError) { client.call_tool("tool_error", raise_on_error: true) }
    end
  end

  def test_hooks_get_as_many_arguments_as_they_take
    seen = Thread::Queue.new
    client = connected({}, { on_error: ->(error) { seen << error.message } }) do |server|
      server.tool("bug") { raise "secret" }
      server.prompt("plan", complete: { city: ->(start, known = {}) { [start, known[:day]].compact } }) { |city:, day:| city + day }
    end
    logged { client.call_tool("bug") }
    assert_equal "secret", Timeout.timeout(30) { seen.pop }
    reference = Trunkline::PromptReference.new(name: "plan")
    assert_equal %w[Os 1], client.complete(reference, { name: "city", value: "Os" }, { arguments: { day: "1" } }).completion.values
  end

  def test_text_that_is_not_valid_costs_no_call
    broken = "half \xED\xA0"
    client = connected do |server|
      server.tool("text") { broken }
      server.tool("hash") { { broken => broken } }
      server.tool("error") { raise Trunkline::ToolError, broken }
      server.tool("latin") { "\xE9".dup.force_encoding("ISO-8859-1") }
      server.tool("itself") { [].tap { |list| list << list } }
    end
    logged do |records|
      %w[text hash error].each { |name| assert_match(/half \uFFFD/, client.call_tool(name).text, name) }
      assert_equal "\u00E9", client.call_tool("latin").text
      assert client.call_tool("itself").is_error
      assert_match(/"itself" failed/, records.pop)
    end
  end

  # The json gem would send their `to_s`.
  def test_objects_without_a_json_form_are_no_results
    unfit = { "range" => 1..2, "error" => RuntimeError.new("x"), "object" => [1, { at: Object.new }], "rational" => 1r, "class" => String, "nothing" => BasicObject.new, "nan" => { x: [Float::NAN] } }
    line = nil
    client = connected do |server|
      unfit.each { |name, value| line = __LINE__ and server.tool(name) { value } }
    end
    logged do |records|
      unfit.each_key { |name| assert client.call_tool(name).is_error, name }
      messages = Array.new(unfit.length) { Timeout.timeout(30) { records.pop } }
      # One line, with the place of the block instead of frames of the library.
      unfit.keys.zip(messages) { |name, message| assert_match(/\Atrunkline: the tool "#{name}" failed: #{Regexp.escape(__FILE__)}:#{line}:in `the tool "#{name}"': .+ \(Trunkline::InvalidArgumentError\)\s*\z/, message) }
      assert_match(/: a value of type Range cannot be represented in JSON: .*define `as_json`/, messages[0])
      assert_match(/\$\[1\]\.at: a value of type Object cannot/, messages[2])
      assert_match(/\$\.x\[0\]: NaN not allowed in JSON/, messages[6])
    end
    error = assert_raises(Trunkline::InvalidArgumentError) { client.call_tool("own", { at: [Object.new] }) }
    assert_match(/\$\.arguments\.at\[0\]: a value of type Object/, error.message)
  end

  def test_every_handler_is_named_where_its_result_does_not_fit
    provider = Class.new { def list(*) = [] and def get(*) = Object.new }.new
    client = connected({ on_elicit: ->(_) { "no result" } }) do |server|
      server.resource("x://y") { Object.new }
      server.prompt("p") { Object.new }
      server.provider("tools", provider)
      server.request_handler("com.acme/x") { Object.new }
      server.middleware("tools/list") { "no result" }
      server.tool("ask") { |ctx| ctx.elicit("?", { a: String }) }
    end
    uses = { "resource" => -> { client.read_resource("x://y") }, "prompt" => -> { client.get_prompt("p") }, "provider" => -> { client.call_tool("unknown") },
             "handler" => -> { client.request("com.acme/x") }, "middleware" => -> { client.list_tools }, "on_elicit" => -> { client.call_tool("ask") } }
    logged do |records|
      uses.each do |name, use|
        begin
          use.call
        rescue Trunkline::Error
          nil # Some results are errors instead.
        end
        assert_match(/\Atrunkline: .*#{name}.* failed: #{Regexp.escape(__FILE__)}:\d+:/, Timeout.timeout(30) { records.pop }, name)
      end
    end
  end

  VALUES = <<~'RUBY'
    require "bigdecimal"
    require "date"
    require "delegate"
    require "json"
    require "set"
    require "trunkline"
    point = Struct.new(:x, :y)
    both = Class.new { def as_json(*) = { "as" => 1 } and def to_json(*) = raise("not asked") }
    VALUES = {
      struct: [point.new(1, :a), { "x" => 1, "y" => "a" }], set: [Set[1, "b"], [1, "b"]], time: [Time.at(0, 5, :millisecond).utc, "1970-01-01T00:00:00.005Z"],
      date: [Date.new(2026, 1, 2), "2026-01-02"], datetime: [DateTime.new(2026, 1, 2, 3), "2026-01-02T03:00:00.000+00:00"], decimal: [BigDecimal("1234567890123456789.5"), "1234567890123456789.5"],
      own: [both.new, { "as" => 1 }], options: [Class.new { def as_json(options) = [options, Time.at(0).utc] }.new, [{}, "1970-01-01T00:00:00.000Z"]],
      own_struct: [Struct.new(:x) { def to_json(*state) = { "own" => x }.to_json(*state) }.new(1), { "own" => 1 }], uri: [URI("https://a.example"), "https://a.example"],
      delegator: [SimpleDelegator.new(both.new), { "as" => 1 }], method: [Struct.new(:method).new("get"), { "method" => "get" }]
    }
    VALUES[:data] = [Data.define(:x).new(x: Date.new(2026, 1, 2)), { "x" => "2026-01-02" }] if defined?(Data)
    VALUES[:nested] = [VALUES.values.map(&:first), VALUES.values.map(&:last)]
    plain = Class.new { def initialize = @secret = 1 }
    itself = Class.new { def as_json(*) = [self] }
    server = Trunkline::Server.new("x", version: "1")
    VALUES.each { |name, (value, _)| server.tool(name.to_s) { { value: value } } }
    server.tool("top") { point.new(1, 2) }
    server.tool("output", output: { x: Integer, y: Integer }) { point.new(1, 2) }
    server.tool("plain") { plain.new }
    server.tool("itself") { itself.new }
    server.tool("echo") { |value:| { value: value } }
    server.resource("x://time") { Time.at(0).utc }
    Trunkline::Client.connect(server: server) do |client|
      VALUES.each do |name, (value, expected)|
        [client.call_tool(name.to_s), client.call_tool("echo", { value: value })].each do |result|
          found = JSON.parse(result.text)["value"] unless result.is_error
          warn "#{name}: #{found.inspect} instead of #{expected.inspect}" unless found == expected
        end
      end
      %w[plain itself].each { |name| warn name unless client.call_tool(name).is_error }
      puts client.call_tool("top").text, client.call_tool("output").structured_content.to_json, client.read_resource("x://time").contents[0].text
      begin
        server.tool("schema", input: { type: "object", properties: { days: 1..7, of: String } }) { |days:, of:| "" }
      rescue Trunkline::InvalidArgumentError => e
        puts e.message[/not a JSON Schema/]
      end
    end
  RUBY

  # Acts like ActiveSupport: every object writes its instance variables.
  RAILS = <<~'RUBY'
    module ToJson
      def to_json(options = nil) = options.is_a?(JSON::State) ? super(options) : JSON.generate(as_json(options))
    end
    require "json"
    require "bigdecimal"
    require "date"
    require "set"
    require "uri"
    [Enumerable, Hash, Array, String, Numeric, NilClass, TrueClass, FalseClass, Object, Struct].each { |type| type.prepend(ToJson) }
    class Object
      def as_json(options = nil) = respond_to?(:to_hash) ? to_hash.as_json(options) : instance_variables.to_h { |name| [name.to_s, instance_variable_get(name)] }.as_json(options)
    end
    module Enumerable
      def as_json(options = nil) = to_a.as_json(options)
    end
    class Hash
      def as_json(options = nil) = to_h { |name, one| [name.to_s, one.as_json(options)] }
    end
    class Array
      def as_json(options = nil) = map { |one| one.as_json(options) }
    end
    class Struct
      def as_json(options = nil) = to_h.as_json(options)
    end
    class Data
      def as_json(options = nil) = to_h.as_json(options)
    end if defined?(Data)
    [Integer, Float, String, NilClass, TrueClass, FalseClass].each { |type| type.define_method(:as_json) { |*| self } }
    [Symbol, Range, URI::Generic, Exception, Module].each { |type| type.define_method(:as_json) { |*| to_s } }
    BigDecimal.define_method(:as_json) { |*| to_s("F") }
    Date.define_method(:as_json) { |*| strftime("%Y-%m-%d") }
    require "time"
    [Time, DateTime].each { |type| type.define_method(:as_json) { |*| xmlschema(3) } }
  RUBY

  def test_objects_of_ruby_have_a_json_form
    { "plain" => "", "rails" => RAILS }.each do |name, before|
      output, errors, = run_program("#{before}#{VALUES}")
      assert_equal "", errors.lines.grep_v(/\AERROR trunkline: the tool "(plain|itself)" failed|\A\n/).join, name
      assert_equal ['{"x":1,"y":2}', '{"x":1,"y":2}', '"1970-01-01T00:00:00.000Z"', "not a JSON Schema"], output.lines(chomp: true), name
    end
  end

  def test_every_error_of_a_handler_is_answered
    silent = Class.new(StandardError) { def full_message(**) = raise("no message") }
    numeric = Class.new(Trunkline::ToolError) { def message = 5 }
    client = connected do |server|
      server.tool("object") { raise Trunkline::ProtocolError.new("no", data: Object.new) }
      server.tool("itself") { raise Trunkline::ProtocolError.new("no", data: [].tap { |list| list << list }) }
      server.tool("silent") { raise silent }
      server.tool("numeric") { raise numeric }
    end
    logged { %w[object itself silent numeric].each { |name| assert client.call_tool(name, timeout: 5).is_error, name } }
  end

  def test_exceptions_of_handlers_can_be_raised_by_the_client
    client = connected({ raise_exceptions: true }) do |server|
      server.tool("bug") { raise ArgumentError, "secret" }
      server.tool("tool_error") { raise Trunkline::ToolError, "no" }
    end
    logged { assert_equal "secret", assert_raises(ArgumentError) { client.call_tool("bug") }.message }
    assert client.call_tool("tool_error").is_error
    error = assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Client.connect(["x"], raise_exceptions: true) }
    assert_match(/this process/, error.message)
  end

  def test_exceptions_that_middleware_has_recovered_from_are_not_raised
    runs = 0
    client = connected({ raise_exceptions: true }) do |server|
      server.tool("bug") { raise ArgumentError, "secret" }
      server.tool("flaky") { (runs += 1) == 1 ? raise("not yet") : "at last" }
      server.resource("test://bug") { raise ArgumentError, "a secret of a resource" }
      server.middleware do |request|
        result = request.proceed
        case request.params.dig("_meta", "wanted")
        when "recovered" then { "content" => [{ "type" => "text", "text" => "recovered" }] }
        when "again" then request.proceed
        else result
        end
      end
      server.middleware { |request| request.proceed }
    end
    logged do
      assert_equal "recovered", client.call_tool("bug", meta: { "wanted" => "recovered" }).text
      assert_equal "at last", client.call_tool("flaky", meta: { "wanted" => "again" }).text
      assert_equal "secret", assert_raises(ArgumentError) { client.call_tool("bug") }.message
      assert_equal "a secret of a resource", assert_raises(ArgumentError) { client.read_resource("test://bug") }.message
    end
  end

  def test_definitions_are_checked
    server = Trunkline::Server.new("test", version: "1")
    assert_raises(Trunkline::InvalidArgumentError) { server.tool("no block") }
    error = assert_raises(Trunkline::InvalidArgumentError) { server.tool("a", titel: "x") { "" } }
    assert_match(/titel/, error.message)
    error = assert_raises(Trunkline::InvalidArgumentError) { server.tool("a", input: { b: String }) { |_ctx, args| args } }
    assert_match(/keywords/, error.message)
    error = assert_raises(Trunkline::InvalidArgumentError) { server.tool("a", input: { b: String }) { |b:, c:, d: 1| [b, c, d] } }
    assert_match(/lacks c,/, error.message)
    assert_raises(Trunkline::InvalidArgumentError) { server.tool("a", input: [String]) { "" } }
    server.tool("a") { "" }
    assert_raises(Trunkline::InvalidArgumentError) { server.tool("a") { "" } }
    assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Server.new("x", version: "1", page_sise: 1) }
    assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Server.new("x", version: "1", session_idle: -1) }
    %i[on_error lifespan].each { |hook| assert_match(/#{hook}/, assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Server.new("x", version: "1", hook => 5) }.message) }
    assert_raises(Trunkline::InvalidArgumentError) { server.mount("x", "y") }
    assert_raises(Trunkline::InvalidArgumentError) { server.proxy("y") }
    assert_raises(Trunkline::InvalidArgumentError) { server.listen(port: 0, auth: "token") }
  ensure
    server.close
  end

  def test_features_change_while_clients_are_connected
    changes = Thread::Queue.new
    added = nil
    client = connected({ on_tools_changed: -> { changes << true } }) { |server| added = server.tool("a", description: "old") { "old" } }
    added.update(description: "new") { "new" }
    changes.pop
    assert_equal ["a", "new", "new"], [*client.list_tools.map { |tool| [tool.name, tool.description] }.first, client.call_tool("a").text]
    added.disable
    assert_empty client.list_tools
    added.enable
    added.remove
    assert_raises(Trunkline::ProtocolError) { client.call_tool("a") }
  end

  def test_visible_decides_who_sees_a_tool
    client = connected { |server| server.tool("hidden", visible: ->(ctx) { ctx.auth }) { "" } }
    assert_empty client.list_tools
  end

  def test_middleware_wraps_calls
    client = connected do |server|
      server.middleware("tools/call") do |request, ctx|
        ctx.log("info", request.params["name"])
        result = request.proceed
        result["content"] << { "type" => "text", "text" => "and more" }
        result
      end
      server.tool("a") { "text" }
    end
    assert_equal "text\nand more", client.call_tool("a").text
  end

  def test_middleware_without_a_result_is_an_error
    client = connected do |server|
      server.middleware("tools/call") { |request| request.proceed && nil }
      server.tool("a") { "b" }
    end
    logged do |records|
      assert_raises(Trunkline::ProtocolError) { client.call_tool("a") }
      assert_match(/middleware must return a result/, Timeout.timeout(30) { records.pop })
    end
  end

  def test_middleware_shares_values_with_the_handler
    client = connected do |server|
      server.middleware do |request, ctx|
        ctx.vars[:user] = "ann"
        request.proceed
      end
      server.middleware { |request, ctx| (ctx.vars[:user] += "!") && request.proceed }
      server.tool("who") { |ctx| ctx.vars[:user] }
    end
    2.times { assert_equal "ann!", client.call_tool("who").text }
    eventually { Trunkline::Port.current.requests.instance_variable_get(:@scopes).empty? }
  end

  def test_providers_and_request_handlers
    provider = Object.new
    def provider.list(_cursor, _ctx) = [{ name: "dynamic", inputSchema: { type: "object" } }]
    def provider.get(params, _ctx) = params["name"] == "dynamic" ? "called #{params["arguments"]}" : nil
    client = connected do |server|
      server.provider("tools", provider)
      server.request_handler("com.acme/sum", params: { a: Integer, b: Integer }) { |a:, b:| { sum: a + b } }
    end
    assert_equal ["dynamic"], client.list_tools.map(&:name)
    assert_match(/called/, client.call_tool("dynamic", { x: 1 }).text)
    assert_equal 3, client.request("com.acme/sum", { a: 1, b: 2 })["sum"]
    assert_raises(Trunkline::ProtocolError) { client.request("com.acme/sum", { a: "x" }) }
  end
end
