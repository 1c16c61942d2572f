# frozen_string_literal: true

require_relative "helper"

class TestText < TrunklineTest
  TEXT = "café 日本!"
  # The same text: as bytes of UTF-8 under any label in which they are no other valid text, and
  # encoded as the label says.
  LABELS = {
    "utf8" => [TEXT, "UTF-8"], "ascii" => [TEXT, "US-ASCII"], "binary" => [TEXT, "ASCII-8BIT"], "odd" => [TEXT, "UTF-16LE"],
    "utf7" => [TEXT, "UTF-7"], "utf16" => [TEXT.encode("UTF-16BE"), "UTF-16BE"], "marked" => [TEXT.encode("UTF-16"), "UTF-16"], "euc" => [TEXT[5..].encode("EUC-JP"), "EUC-JP"]
  }.freeze

  # Hosts start servers without LANG.
  PROGRAM = <<~'RUBY'
    require "trunkline"
    abort "the locale is #{Encoding.default_external}" unless Encoding.default_external == Encoding::US_ASCII
    text = ->(label) { Marshal.load(ENV.fetch("TEXTS").unpack1("m")).fetch(label).then { |bytes, encoding| bytes.dup.force_encoding(encoding) } }
    server = Trunkline::Server.new("x", version: "1", instructions: text["ascii"], title: text["binary"])
    tool = ->(name, &block) { server.tool(name, description: text["ascii"]) { |ctx, label:| block.call(text[label], ctx) } }
    tool.call("text") { |text| text }
    tool.call("value") { |text| { key: [text] } }
    tool.call("key") { |text| { text => 1 } }
    tool.call("symbol") { |text| [:"#{text}"] }
    tool.call("block") { |text| Trunkline::TextContent.new(text: text) }
    tool.call("mixed") { |text| ["", text, Trunkline::TextContent.new(text: "")] }
    tool.call("tool_error") { |text| raise Trunkline::ToolError, text }
    tool.call("protocol_error") { |text| raise Trunkline::ProtocolError.new(text, code: 7, data: text) }
    tool.call("bug") { |text| raise text }
    tool.call("progress") { |text, ctx| ctx.progress(1, message: text) && "" }
    tool.call("log") { |text, ctx| ctx.warning(text, logger: text) && "" }
    tool.call("elicit") { |text, ctx| ctx.elicit(text, { text => String }).content.to_a.join(" ") }
    tool.call("once") { |text, ctx| ctx.once(text) { text } }
    server.tool("echo") { |**all| all.inspect == { sent: all[:sent] }.inspect ? all[:sent] : all }
    server.resource("x://{label}", description: text["ascii"], complete: { label: ->(start) { [text[start]] } }) { |label:| text[label] }
    server.prompt("prompt", arguments: { label: text["binary"] }) { |label:| text[label] }
    server.prompt("messages") { |label:| [Trunkline.user(text[label]), Trunkline.assistant(text[label])] }
    server.skill({ "SKILL.md" => "---\nname: one\ndescription: #{text["utf8"]}\n---\n".dup.force_encoding("US-ASCII") })
    server.middleware("prompts/get") { |request| request.proceed.tap { |result| result["_meta"] = { "text" => text[request.params["arguments"]["label"]] } } }
    server.serve_stdio
  RUBY

  def with_program(variables = { "LANG" => nil, "LC_CTYPE" => nil, "LC_ALL" => "C", "RUBYOPT" => nil })
    Tempfile.create(["program", ".rb"]) do |file|
      file.write(PROGRAM)
      file.close
      env = variables.compact.merge("TEXTS" => [Marshal.dump(LABELS)].pack("m0"))
      given = ["/usr/bin/env", *variables.select { |_, value| value.nil? }.flat_map { |name, _| ["-u", name] }, RbConfig.ruby, "-w", "-I", LIB, file.path]
      seen = Thread::Queue.new
      options = { env: env, stderr: "keep", log_level: "debug", on_log: ->(one) { seen << one }, on_elicit: ->(one) { { action: "accept", content: one.requested_schema["properties"].to_h { |name, _| [name, one.message] } } } }
      Trunkline::Client.connect(given, **options) { |client| yield client, seen }
    end
  end

  def test_text_is_utf8_whatever_its_label
    with_program do |client, seen|
      assert_equal [TEXT, TEXT], [client.instructions, client.server_info.title]
      assert_equal [TEXT], client.list_tools.map(&:description).compact.uniq
      assert_equal TEXT, client.list_skills.first.frontmatter["description"]
      LABELS.each do |label, (bytes, encoding)|
        expected = bytes.dup.force_encoding(encoding).then { |text| %w[utf16 marked euc].include?(label) ? text.encode("UTF-8") : TEXT }
        call = ->(tool, &block) { client.call_tool(tool, { label: label }, timeout: 10, &block).text }
        answers = {
          text: call.("text"), value: JSON.parse(call.("value"))["key"][0], key: JSON.parse(call.("key")).keys[0], block: call.("block"), mixed: call.("mixed").strip,
          symbol: JSON.parse(call.("symbol"))[0], tool_error: call.("tool_error"), once: call.("once"), elicit: call.("elicit").split(" ", 2).last[-expected.length..],
          resource: client.read_resource("x://#{label}").contents[0], prompt: client.get_prompt("prompt", { label: label }).messages[0].content.text,
          middleware: client.get_prompt("prompt", { label: label })["_meta"]["text"], messages: client.get_prompt("messages", { label: label }).messages.map { |one| one.content.text }.uniq.first,
          completion: client.complete(Trunkline::ResourceTemplateReference.new(uri: "x://{label}"), { name: "label", value: label }).completion.values[0]
        }
        # Bytes that a resource labels as such are bytes.
        answers[:resource] = answers[:resource].then { |one| label == "binary" ? one.bytes.force_encoding("UTF-8") : one.text }
        call.("progress") { |progress| answers[:progress] = progress.message }
        call.("log")
        Timeout.timeout(30) { seen.pop }.then { |one| answers.merge!(log: one.data, logger: one.logger) }
        assert client.call_tool("bug", { label: label }).is_error
        error = assert_raises(Trunkline::ProtocolError) { call.("protocol_error") }
        answers.merge!(protocol_error: error.message[-expected.length..], protocol_data: error.data)
        answers.each { |place, text| assert_equal expected, text, "#{place} of text labeled #{label}" }
      end
    end
  end

  def test_arguments_of_clients_are_utf8_whatever_their_label
    with_program do |client|
      LABELS.each do |label, (bytes, encoding)|
        text = bytes.dup.force_encoding(encoding)
        expected = %w[utf16 marked euc].include?(label) ? text.encode("UTF-8") : TEXT
        assert_equal expected, client.call_tool("echo", { sent: text }).text, label
        assert_equal({ expected => 1 }, JSON.parse(client.call_tool("echo", { text => 1 }).text), label)
        assert_equal expected, client.request("tools/call", { "name" => "echo", "arguments" => { sent: text } })["content"][0]["text"], label
        assert_equal [expected, expected], [Trunkline::Text.of(text), Trunkline::Text.written(text)], label
      end
    end
  end

  def test_bytes_that_are_not_text_are_refused_or_replaced
    bytes = "half \xED\xA0"
    client = connected do |server|
      server.tool("binary") { bytes.b }
      server.tool("nested") { { list: [1, bytes.b] } }
      server.tool("replaced") { bytes }
      server.tool("message") { raise Trunkline::ToolError, bytes.b }
    end
    logged do |records|
      { "binary" => "", "nested" => '\$\.list\[1\]: ' }.each do |name, path|
        assert client.call_tool(name).is_error, name
        assert_match(/\A.*"#{name}" failed.* #{path}a binary string .* `force_encoding` .* Trunkline::ImageContent/, records.pop)
      end
    end
    %w[replaced message].each { |name| assert_match(/\Ahalf \uFFFD/, client.call_tool(name).text, name) }
    error = assert_raises(Trunkline::InvalidArgumentError) { client.call_tool("binary", { a: bytes.b }) }
    assert_match(/\A\$\.arguments\.a: .*force_encoding/, error.message)
  end

  def test_logs_are_utf8_whatever_the_label_of_a_message
    text = "puts Encoding.default_external; require 'trunkline'; Trunkline.log(:warn, \"caf\\xC3\\xA9\".dup.force_encoding('US-ASCII')); Trunkline.log_error('x', RuntimeError.new(\"caf\\xC3\\xA9\".b)); sleep 0.2"
    output, errors, = Open3.capture3({ "LANG" => nil, "LC_ALL" => "C" }, RbConfig.ruby, "-w", "-I", LIB, "-e", text)
    assert_equal "US-ASCII\n", output
    errors = errors.dup.force_encoding("UTF-8")
    assert_match(/\AWARN trunkline: café\nERROR trunkline: x: .*café/, errors)
  end
end
