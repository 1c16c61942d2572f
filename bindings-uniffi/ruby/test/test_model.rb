# frozen_string_literal: true

require_relative "helper"

class TestModel < TrunklineTest
  def test_models_are_views_of_json
    json = { "name" => "a", "inputSchema" => {}, "icons" => [{ "src" => "x" }], "unknown" => 1 }
    tool = Trunkline::Tool.from_json(json)
    assert_equal ["a", "x", nil, 1], [tool.name, tool.icons.first.src, tool.title, tool["unknown"]]
    assert_equal [json] * 2, [tool.to_h, tool.as_json(only: "name")]
    assert_equal tool, Trunkline::Tool.from_json(json.dup)
    assert_equal({ "type" => "text", "text" => "x" }, Trunkline::TextContent.new(text: "x").to_h)
    assert_equal '{"type":"text","text":"x"}', JSON.generate(Trunkline::TextContent.new(text: "x"))
  end

  def test_models_match_patterns
    case Trunkline::Tool.new(name: "a", input_schema: {}, title: "A")
    in { name: "a", title: } then assert_equal "A", title
    end
  end

  def test_members_are_checked
    assert_raises(ArgumentError) { Trunkline::TextContent.new }
    assert_raises(ArgumentError) { Trunkline::TextContent.new(text: "x", colour: 1) }
    assert_raises(Trunkline::TransportError) { Trunkline::Tool.from_json(nil) }
    assert_raises(Trunkline::TransportError) { Trunkline::CallToolResult.from_json({ "content" => "x" }).content }
  end

  def test_bytes_are_binary_strings_or_base64
    png = "\x89PNG\r\n\xFF\xFE"
    image = ->(data) { Trunkline::ImageContent.new(data: data, mime_type: "image/png") }
    assert_equal [png.b] * 3, [png.b, [png].pack("m"), [png].pack("m0")].map { |data| image.call(data).bytes }
    assert_equal "abc", Trunkline::ResourceContents.new(uri: "a:b", blob: "abc".b).bytes
    # `File.read` returns text.
    [png, "<svg/>", "ä", "AAAA".encode("UTF-16")].each do |data|
      assert_match(/data must be bytes/, assert_raises(ArgumentError) { image.call(data) }.message)
      assert_raises(ArgumentError) { Trunkline::AudioContent.new(data: data, mime_type: "audio/wav") }
      assert_match(/blob must be bytes/, assert_raises(ArgumentError) { Trunkline::ResourceContents.new(uri: "a:b", blob: data) }.message)
    end
    assert_equal "an ü", Trunkline::LogMessage.new(level: "info", data: "an ü").data
  end

  def test_hashes_stand_for_models
    expected = { "name" => "a", "inputSchema" => {}, "annotations" => { "readOnlyHint" => true }, "icons" => [{ "src" => "x", "mimeType" => "y" }] }
    assert_equal expected, Trunkline::Tool.new(name: "a", input_schema: {}, annotations: { read_only_hint: true }, icons: [{ src: "x", mimeType: "y" }]).to_h
    client = connected { |server| server.tool("a", annotations: { read_only_hint: true }) { "" } }
    assert client.list_tools.first.annotations.read_only_hint
  end

  def test_unknown_content_is_kept
    block = Trunkline::ContentBlock.from_json({ "type" => "hologram", "a" => 1 })
    assert_equal ["hologram", { "type" => "hologram", "a" => 1 }], [block.type, block.to_h]
  end

  def test_secrets_are_not_shown
    refute_match(/secret/, Trunkline::Token.new(token: "secret").inspect)
  end

  def test_schemas_from_types
    expected = { "type" => "object", "properties" => {
      "name" => { "type" => "string" }, "days" => { "type" => "integer", "minimum" => 1, "maximum" => 7 },
      "tags" => { "type" => "array", "items" => { "type" => "string" } }, "unit" => { "type" => "string", "enum" => %w[c f] }
    }, "required" => %w[name days tags unit] }
    assert_equal expected, Trunkline::Schema.object({ name: String, days: 1..7, tags: [String], unit: %w[c f] })
    assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Schema.of(Kernel) }
  end

  def test_ranges_are_bounds
    assert_equal [{ "type" => "integer", "minimum" => 1, "maximum" => 9 }, { "type" => "number", "minimum" => 0.5, "exclusiveMaximum" => 1 }], [1...10, 0.5...1].map { |range| Trunkline::Schema.of(range) }
    assert_equal [{ "type" => "integer", "minimum" => 1 }, { "type" => "integer", "maximum" => 0 }], [(1...), (...1)].map { |range| Trunkline::Schema.of(range) }
    ["a".."z", nil..nil, 1r..2r].each { |range| assert_raises(Trunkline::InvalidArgumentError, range.inspect) { Trunkline::Schema.of(range) } }
  end

  def test_properties_and_types_within_a_json_schema_are_refused
    assert_raises(Trunkline::InvalidArgumentError) { Trunkline::Schema.object({ address: { city: { type: "string" } } }) }
    [{}, { not: {} }, { minLength: 3 }, { type: "object", properties: { city: {} } }, { "x-note": {} }].each { |schema| assert_equal Trunkline::Model.plain(schema), Trunkline::Schema.of(schema) }
    schemas = [{ address: { city: String } }, { list: [{ city: String }] }, { type: "object", properties: { city: String } }]
    schemas.each do |schema|
      error = assert_raises(Trunkline::InvalidArgumentError, schema.inspect) { Trunkline::Schema.object(schema) }
      assert_match(/String.*Trunkline::Schema\.object/, error.message)
    end
    inner = { "type" => "object", "properties" => { "city" => { "type" => "string" } }, "required" => ["city"] }
    assert_equal inner, Trunkline::Schema.object({ address: Trunkline::Schema.object({ city: String }) })["properties"]["address"]
  end
end
