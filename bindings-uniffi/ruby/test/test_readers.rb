# frozen_string_literal: true

require "bigdecimal"
require "socket"
require "timeout"
require_relative "helper"

# Reads messages of peers as all languages do: the tables of `tests/`.
class TestReaders < TrunklineTest
  TESTS = File.expand_path("../../../tests", __dir__)
  READERS = JSON.parse(File.read("#{TESTS}/json-readers.json"))
  SCHEMA = READERS["schema"]
  ANSWERS = JSON.parse(File.read("#{TESTS}/odd-answers.json"))

  # The transport to a server that answers `initialize`, and other methods with texts.
  class Scripted
    HELLO = '{"protocolVersion":"2025-11-25","capabilities":{"tools":{},"resources":{},"prompts":{},"completions":{}},"serverInfo":{"name":"odd","version":"1"}}'

    attr_reader :results

    def initialize(results)
      @results = { "initialize" => HELLO }.merge(results)
      @answers = Thread::Queue.new
    end

    def connect = nil

    def send(message)
      request = JSON.parse(message)
      @answers << %({"jsonrpc":"2.0","id":#{request["id"].to_json},"result":#{@results.fetch(request["method"])}}) if request.key?("id")
    end

    def receive = @answers.pop

    def close = @answers.close
  end

  def scripted(results, revision: "2025-11-25")
    transport = Scripted.new(results)
    (@opened = @opened.to_a) << (client = Trunkline::Client.connect(transport, revision: revision, reconnect: false))
    [client, transport]
  end

  CONNECTED = ->(client) { { "server" => client.server_info&.name, "revision" => client.revision } }

  # Reads results with a client, in the form of the table.
  READS = {
    "initialize" => CONNECTED,
    "server/discover" => CONNECTED,
    "tools/call" => lambda { |client|
      client.call_tool("t").then { |result| { "text" => result.text, "isError" => result.is_error || false, "blocks" => result.content.length } }
    },
    "tools/list" => ->(client) { { "names" => client.list_tools.map(&:name) } },
    "resources/list" => ->(client) { { "names" => client.list_resources.map(&:name) } },
    "resources/templates/list" => ->(client) { { "names" => client.list_resource_templates.map(&:name) } },
    "prompts/list" => ->(client) { { "names" => client.list_prompts.map(&:name) } },
    "prompts/get" => ->(client) { { "texts" => client.get_prompt("p").messages.map { |message| message.content["text"] } } },
    "resources/read" => ->(client) { { "texts" => client.read_resource("a:b").contents.map { |one| one.blob || one.text } } },
    "completion/complete" => lambda { |client|
      { "values" => client.complete(Trunkline::PromptReference.new(name: "p"), { name: "a", value: "x" }).completion.values }
    }
  }.freeze

  def test_every_odd_response_has_one_verdict
    assert_operator ANSWERS.length, :>=, 100
    records = Thread::Queue.new
    Trunkline.logger = ->(record) { records << record }
    ANSWERS.each do |row|
      records.clear
      if row["refused"]
        error = assert_raises(Trunkline::TransportError, row["what"]) { read(row) }
        assert_includes error.message, row["refused"], row["what"]
      else
        assert_equal row["reads"], read(row).slice(*row["reads"].keys), row["what"]
        warning = Timeout.timeout(30) { records.pop } if row["warns"]
        row["warns"]&.each { |part| assert_includes warning.message, part, row["what"] }
        assert_equal row["record"], warning.to_h.slice(:level, :target, :event, :fields).to_h { |name, value| [name.name, value.is_a?(Symbol) ? value.name : value] } if row["record"]
        assert_empty records, row["what"]
      end
    end
  ensure
    Trunkline.logger = nil
  end

  def read(row)
    # A client with a given revision needs no discovery.
    client, = scripted({ "tools/list" => row["tools"], row["method"] => row["result"] }, revision: ("2025-11-25" unless row["method"] == "server/discover"))
    client.list_tools if row["tools"]
    READS.fetch(row["method"]).call(client)
  ensure
    client&.close
  end

  # The members that the schema has. Numbers are exact: 5.0 is 5, but infinity is not 1e400.
  def known(value, schema = SCHEMA)
    schema = SCHEMA["$defs"].fetch(schema["$ref"].delete_prefix("#/$defs/")) if schema["$ref"]
    case value
    when Hash
      value.to_h do |name, one|
        [name, schema.fetch("properties", {})[name] || schema["additionalProperties"]]
          .then { |key, of| of ? [key, known(one, of)] : [key, nil] }
      end.slice(*(schema["additionalProperties"] ? value.keys : schema.fetch("properties", {}).keys))
    when Array then value.map { |one| known(one, schema["items"]) }
    when Float then value.finite? ? BigDecimal(value.to_s) : :infinite
    else value
    end
  end

  # Compares what was seen, or the error instead of it, with what may be.
  def check(row, who, seen, refusal)
    if refusal
      assert row["mayRefuse"] && refusal.include?(row["mayRefuse"]), "#{row["name"]}: #{who} is refused: #{refusal[0, 300]}"
    else
      assert known(seen) == JSON.parse(row["seen"], decimal_class: BigDecimal), "#{row["name"]}: #{who} sees #{seen.inspect[0, 300]} instead of #{row["seen"][0, 300]}"
    end
  end

  # Tools that get their arguments in different ways.
  def readers(server, seen)
    see = lambda do |amount: nil, kind: nil, status: nil, huge: nil, transfer: nil, items: nil, named: nil|
      seen << { amount: amount, kind: kind, status: status, huge: huge, transfer: transfer, items: items, named: named }.compact and ""
    end
    one = { amount: Numeric, kind: String }
    transfer = Trunkline::Schema.object(one, optional: one.keys)
    server.tool("all", input: SCHEMA) { |**all| seen << all and "" }
    server.tool("members", input: SCHEMA, &see)
    server.tool("types", input: { **one, status: String, huge: Numeric, transfer: transfer, items: [transfer], named: Hash }, &see)
    %w[all members types]
  end

  # Sends lines to a server, and reads what it answers.
  def raw(server)
    ours, theirs = UNIXSocket.pair
    listener = server.listen_io(theirs)
    ask = lambda do |line|
      ours.write("#{line}\n")
      JSON.parse(Timeout.timeout(30) { ours.gets })
    end
    ask.call('{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}')
    yield ->(tool, arguments) { ask.call(%({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"#{tool}","arguments":#{arguments}}})) }
  ensure
    [ours, theirs].each(&:close)
    listener&.close
  end

  def refusal(answer)
    return JSON.generate(answer["error"]) if answer["error"]

    answer.dig("result", "content", 0, "text") if answer.dig("result", "isError")
  end

  def test_handlers_see_the_arguments_that_were_validated
    assert_operator READERS["cases"].length, :>=, 40
    assert_operator READERS["refused"].length, :>=, 8
    seen = []
    judged = []
    server = Trunkline::Server.new("x", version: "1")
    names = readers(server, seen)
    server.middleware("tools/call") { |request| judged << request.params["arguments"] and request.proceed }
    verbose = $VERBOSE
    $VERBOSE = false # The json gem warns of numbers that are out of range.
    raw(server) do |call|
      READERS["cases"].product(names) do |row, name|
        [seen, judged].each(&:clear)
        refused = refusal(call.call(name, row["sent"]))
        # An object of types has no other members.
        next if name == "types" && refused&.end_with?("not allowed")

        check(row, "the handler of #{name}", seen.first&.transform_keys(&:name), refused)
        check(row, "middleware", judged.first, refused)
      end
      READERS["refused"].each do |row|
        [seen, judged].each(&:clear)
        assert refusal(call.call("all", row["sent"])), row["name"]
        assert_empty seen, row["name"]
      end
    end
  ensure
    $VERBOSE = verbose
  end

  def test_middleware_keeps_integers_of_results
    content = { "huge" => 18_446_744_073_709_551_617, "least" => -9_223_372_036_854_775_809 }
    [false, true].each do |marks|
      client = connected do |server|
        server.middleware("tools/call") do |request|
          request.proceed(request.params).tap { |result| result["_meta"] = { "example.com/marked" => true } if marks }
        end
        server.tool("huge", input: { "type" => "object" }, output: { "type" => "object" }) { |**given| given }
      end
      result = client.call_tool("huge", content)
      assert_equal content, result.structured_content
      assert_equal marks, result.meta&.key?("example.com/marked") || false
    end
  end

  def test_clients_see_the_content_that_was_validated
    client, transport = scripted({ "tools/list" => JSON.generate({ tools: [{ name: "pay", inputSchema: { type: "object" }, outputSchema: SCHEMA }] }) })
    client.list_tools
    READERS["cases"].each do |row|
      transport.results["tools/call"] = %({"content":[],"structuredContent":#{row["sent"]}})
      seen, refused = nil
      begin
        seen = client.call_tool("pay").structured_content
      rescue Trunkline::Error => e
        refused = e.message
      end
      check(row, "the client", seen, refused)
    end
  end
end
