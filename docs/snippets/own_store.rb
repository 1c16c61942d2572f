# A custom store: hashes here, a database in production.
require "trunkline"

class HashStore
  def initialize
    # Maps each key to its expiry and its value or log entries.
    @texts = {}
    @logs = {}
    @position = 0
    @lock = Monitor.new
  end

  def get(key) = @lock.synchronize { fresh(@texts, key) }

  def put(key, text, keep_for) = @lock.synchronize { @texts[key] = [now + keep_for, text] }

  def put_if(key, expected, text, keep_for)
    # With a database, use a transaction.
    @lock.synchronize { get(key) == expected && put(key, text, keep_for) ? true : false }
  end

  def remove(key) = @lock.synchronize { [@texts, @logs].each { |table| table.delete(key) } }

  def append(log, entry, max_entries, keep_for)
    @lock.synchronize do
      entries = [*fresh(@logs, log), { position: @position += 1, text: entry }]
      @logs[log] = [now + keep_for, entries.last(max_entries)]
      @position
    end
  end

  # A read need not wait for entries.
  def read(log, after, limit, _wait)
    @lock.synchronize { [*fresh(@logs, log)].select { |entry| entry[:position] > after }.first(limit) }
  end

  private

  def fresh(table, key)
    ends, value = table[key]
    value if ends && ends > now
  end

  def now = Process.clock_gettime(Process::CLOCK_MONOTONIC)
end

server = Trunkline::Server.new("reports", version: "1.0.0", store: HashStore.new)

findings = Trunkline.check_store(HashStore.new)
puts findings.empty? ? "The store keeps its contract." : findings
server.close
