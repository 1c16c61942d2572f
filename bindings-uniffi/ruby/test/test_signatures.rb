# frozen_string_literal: true

require_relative "helper"

class TestSignatures < TrunklineTest
  SIG = File.expand_path("../sig", __dir__)
  # Calls from the documentation, and other forms that work.
  CALLS = <<~'RUBY'
    server = Trunkline::Server.new("x", version: "1")
    server.tool(:add, input: { a: Integer }) { |a:| a }
    server.tool("book") { |ctx| ctx.elicit("For how many?", { people: Integer }).action }
    server.prompt(:plan, arguments: { city: "The city" }, complete: { city: ->(start) { [start] } }) { |city:| city }
    handlers = { on_elicit: ->(_) { Trunkline::ElicitResult.new(action: "accept", content: { people: 2 }, meta: nil) } }
    Trunkline::Client.connect(server: server, **handlers) do |client|
      results = [client.call_tool("add", { a: 1 }), client.call_tool(:add, { "a" => 1 }), client.call_tool("book")].map(&:text)
      results << client.get_prompt("plan", { city: "Oslo" }).messages[0].content.text << client.get_prompt(:plan, { "city" => "Oslo" }).messages.length
      results << client.complete(Trunkline::PromptReference.new(name: :plan), { name: "city", value: "O" }, { arguments: { day: "1" } }).completion.values.first
      Trunkline::Tool.new(name: :a, title: nil, input_schema: {}, annotations: { read_only_hint: true }, icons: [{ src: "x" }])
      p results
    end
  RUBY

  # Prints the declared methods that don't exist.
  DECLARED = <<~'RUBY'
    require "pathname"
    require "rbs"
    loader = RBS::EnvironmentLoader.new(core_root: nil)
    loader.add(path: Pathname(ARGV.fetch(0)))
    RBS::Environment.from_loader(loader).class_decls.each do |name, entry|
      declaring = Object.const_get(name.to_s)
      entry.decls.flat_map { |part| part.decl.members }.each do |member|
        next unless member.respond_to?(:name) && member.respond_to?(:kind)
        owner = member.kind == :singleton ? declaring.singleton_class : declaring
        exists = owner.method_defined?(member.name) || owner.private_method_defined?(member.name)
        puts "#{name} has no #{member.kind} method #{member.name}" unless exists
      end
    end
    puts "compared"
  RUBY

  def test_each_signature_is_of_a_method_that_exists
    skip "needs the gem rbs" unless Gem::Specification.any? { |gem| gem.name == "rbs" }
    assert_equal "compared", output_of(DECLARED, arguments: [SIG])
  end

  def test_signatures_accept_what_works
    expected = ["1", "1", "accept", "Oslo", 1, "O"].inspect
    assert_equal expected, output_of(CALLS)
    skip "needs the gem rbs" unless Gem::Specification.any? { |gem| gem.name == "rbs" }
    assert_equal expected, output_of(CALLS, "-r", "rbs/test/setup")
    # The signatures are checked.
    assert_match(/TypeError|ArgumentTypeError/, output_of("Trunkline::Server.new('x', version: 1.5)", "-r", "rbs/test/setup"))
  end

  def output_of(text, *options, arguments: [])
    env = { "RBS_TEST_TARGET" => "Trunkline::*", "RBS_TEST_OPT" => "-I #{SIG}", "RBS_TEST_LOGLEVEL" => "error" }
    output, errors, = Timeout.timeout(60) { Open3.capture3(env, RbConfig.ruby, "-I", LIB, *options, "-r", "trunkline", "-e", text, *arguments) }
    "#{errors.lines.grep(/Error/).first}#{output}".strip
  end
end
