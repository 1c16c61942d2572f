# Tests of a server without sockets or processes, for minitest.
require "minitest"
require "trunkline"

SERVER = Trunkline::Server.new("calculator", version: "1.0.0")

SERVER.tool("divide", description: "Divide two numbers.", input: { dividend: Float, divisor: Float }) do |dividend:, divisor:|
  raise ZeroDivisionError, "divided by 0" if divisor.zero?

  dividend / divisor
end

class TestCalculator < Minitest::Test
  def call(dividend, divisor, **options)
    Trunkline::Client.connect(server: SERVER, **options) do |client|
      yield client if block_given?
      client.call_tool("divide", { dividend: dividend, divisor: divisor })
    end
  end

  def test_a_call_through_the_protocol
    result = call(3, 2)
    assert_equal [false, "1.5"], [result.is_error, result.text]
  end

  def test_an_older_revision
    result = call(1, 4, revision: "2024-11-05") { |client| assert_equal "2024-11-05", client.revision }
    assert_equal "0.25", result.text
  end

  def test_exceptions_of_a_handler
    assert_raises(ZeroDivisionError) { call(3, 0, raise_exceptions: true) }
    puts "the handler failed: division by zero"
  end
end

# `minitest/autorun` does this, and reports more.
Minitest.seed = 1
puts "all passed" if TestCalculator.runnable_methods.all? { |name| TestCalculator.new(name).run.passed? }
