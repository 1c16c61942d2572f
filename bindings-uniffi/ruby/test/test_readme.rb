# frozen_string_literal: true

require_relative "helper"

class TestReadme < TrunklineTest
  BLOCKS = File.read(File.expand_path("../README.md", __dir__)).scan(/^```ruby\n(.*?)^```/m).flatten.freeze

  def test_the_server_answers
    text = BLOCKS[0].sub(/^server\.serve_stdio.*/, "") + BLOCKS[1]
    server = Object.new.instance_eval { binding }.tap { |scope| scope.eval(text) }.local_variable_get(:server)
    Trunkline::Client.connect(server: server, on_elicit: ->(_) { Trunkline::ElicitResult.new(action: "accept", content: { people: 2 }) }) do |client|
      assert_equal "Oslo: sunny", JSON.parse(client.call_tool("forecast", { city: "Oslo", days: 1 }).text).first
      assert client.call_tool("forecast", { city: "Oslo", days: 15 }).is_error
      assert_equal "a table for 2", client.call_tool("book").text
      assert_equal "Plan a day in Oslo.", client.get_prompt("plan", { city: "Oslo" }).messages.first.content.text
    end
  ensure
    server&.close
  end

  def test_all_blocks_are_valid
    BLOCKS.each { |text| assert RubyVM::InstructionSequence.compile(text) }
  end
end
