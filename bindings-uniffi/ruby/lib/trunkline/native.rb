# frozen_string_literal: true

require "ffi"

module Trunkline
  # The native library: the functions that uniffi exports for `bindings-uniffi/native`, called
  # directly. The Ruby that uniffi generates holds the interpreter's lock during every call, so that
  # nothing runs while a thread waits for events, and reads an event field by field.
  #
  # @api private
  module Native
    extend FFI::Library

    # Names another file of the library. Go has a variable for its library, which is another one.
    VARIABLE = "TRUNKLINE_RUBY_LIBRARY"

    # The file of the library: next to this one in a gem, or as the environment says.
    def self.path
      ENV[VARIABLE] || File.expand_path("../#{FFI.map_library_name("trunkline_uniffi")}", __dir__)
    end

    # Where the sections of an ELF file with 64 bits end, which is at its end, and the size of the file;
    # nothing for another file.
    def self.lengths(path)
      head = File.binread(path, 64).to_s
      return unless head.bytesize == 64 && head.start_with?("\x7FELF\x02\x01".b)

      offset, size, count = head.unpack("@40Q<@58S<@60S<")
      [offset + (size * count), File.size(path)]
    rescue SystemCallError
      nil # The loader says why it cannot be read.
    end

    # @raise [LoadError] if a file was cut short, which the loader finds out by a bus error
    def self.check_length(path)
      expected, found = lengths(path)
      return unless expected && found < expected

      raise LoadError, "trunkline's native library at #{path} is incomplete (#{found} of at least #{expected} bytes): install the gem again"
    end
    private_class_method :lengths, :check_length

    begin
      check_length(path)
      ffi_lib path
    rescue LoadError
      # Such as a library for glibc on a system with musl, where RubyGems installs it, too.
      raise if File.exist?(path)

      raise LoadError, "trunkline's native library is missing at #{path}: #{ENV[VARIABLE] ? "#{VARIABLE} names it" : "this gem has none for #{RUBY_PLATFORM}"}"
    end

    # Bytes that the library allocated.
    class Buffer < FFI::Struct
      layout :capacity, :uint64, :length, :uint64, :data, :pointer
    end

    # How a call went.
    class Status < FFI::Struct
      layout :code, :int8, :error, Buffer
    end

    PREFIX = "uniffi_trunkline_uniffi_fn_"
    CONTRACT_VERSION = 30
    private_constant :PREFIX, :CONTRACT_VERSION

    # The types of arguments: text and bytes cross in a buffer.
    TYPES = %i[text texts bytes optional events].to_h { |type| [type, Buffer.by_value] }.freeze
    private_constant :TYPES

    begin
      attach_function :contract_version, :ffi_trunkline_uniffi_uniffi_contract_version, [], :uint32
    rescue FFI::NotFoundError
      raise LoadError, "#{path} is not trunkline's native library for Ruby#{", although #{VARIABLE} names it" if ENV[VARIABLE]}: that is #{FFI.map_library_name("trunkline_uniffi")}"
    end

    attach_function :buffer_alloc, :ffi_trunkline_uniffi_rustbuffer_alloc, [:uint64, Status.by_ref], Buffer.by_value
    attach_function :buffer_free, :ffi_trunkline_uniffi_rustbuffer_free, [Buffer.by_value, Status.by_ref], :void

    # How arguments and results are converted.
    LOWERED = { text: "Native.buffer(Text.of(%s), status)", texts: "Native.buffer(Native.list(%s), status)", bytes: "Native.sized(%s, status)",
                optional: "Native.buffer(Native.present(%s), status)", int8: "%s ? 1 : 0" }.freeze
    LIFTED = { bool: "value != 0", text: "Native.text(value, status)", optional: "Native.optional(value, status)", events: "Native.events(value, status)" }.freeze
    private_constant :LOWERED, :LIFTED

    # Defines a function by its source: a block that looks up what its types are takes longer than
    # the call.
    def self.function(name, arguments, result, owner: "func_", on: singleton_class, **options)
      raw = "raw_#{owner}#{name}"
      names = arguments.each_index.map { |index| "given#{index}" }
      lowered = names.zip(arguments).filter_map { |one, type| "#{one} = #{format(LOWERED[type], one)}" if LOWERED.key?(type) }
      # A call consumes a reference to its port.
      port = owner == "method_port_"
      types = [*(:uint64 if port), *arguments.map { |type| TYPES.fetch(type, type) }, Status.by_ref]
      attach_function raw, :"#{PREFIX}#{owner}#{name}", types, result == :bool ? :int8 : TYPES.fetch(result, result), **options
      on.class_eval <<~RUBY, __FILE__, __LINE__ + 1
        def #{name}(#{names.join(", ")})
          status = Native::Status.new
          #{lowered.join("; ")}
          value = Native.#{raw}(#{[*("Native.clone_port(@handle, status)" if port), *names, "status"].join(", ")})
          Native.check(status)
          #{LIFTED.fetch(result, "value")}
        end
      RUBY
    end

    # Raises the error of a call.
    def self.check(status)
      return if status[:code].zero?

      text = take(status[:error], Status.new)
      raise InternalError, "a bug in the native library: #{text}" unless status[:code] == 1

      # The variant, the kind and the error object.
      _, kind = text.unpack("NN")
      raise Requests.error(text.byteslice(12 + kind, text.bytesize))
    end

    # A buffer with these bytes, after others. The library frees the buffers that it is given.
    def self.buffer(bytes, status, before = "")
      length = before.bytesize + bytes.bytesize
      allocated = buffer_alloc(length, status)
      check(status)
      data = allocated[:data]
      data.put_bytes(0, before) unless before.empty?
      data.put_bytes(before.bytesize, bytes) unless bytes.empty?
      allocated[:length] = length
      allocated
    end

    # Bytes after their length.
    def self.sized(bytes, status) = buffer(bytes, status, [bytes.bytesize].pack("N"))

    # The bytes of strings.
    def self.list(strings) = strings.reduce([strings.length].pack("N")) { |all, one| all << [one.bytesize].pack("N") << one.b }

    # The bytes of a string that may be missing.
    def self.present(text) = text ? [1, text.bytesize].pack("CN") << text.b : "\0"

    # The bytes of a buffer, which is freed.
    def self.take(buffer, status)
      return +"" if buffer[:data].null?

      bytes = buffer[:data].read_bytes(buffer[:length])
      buffer_free(buffer, status)
      bytes
    end

    def self.text(buffer, status) = take(buffer, status).force_encoding(Encoding::UTF_8)

    # A presence byte and a length come first.
    def self.optional(buffer, status)
      bytes = take(buffer, status)
      bytes.byteslice(5, bytes.bytesize).force_encoding(Encoding::UTF_8) if bytes.getbyte(0) == 1
    end

    def self.events(buffer, status) = read_events(take(buffer, status))

    # The events of a batch, as arrays of kind, ticket, handle, ok, name, body and cause.
    def self.read_events(bytes)
      at = 4
      Array.new(bytes.unpack1("N")) do
        kind, ticket, handle, ok, length = bytes.unpack("CQ>Q>CN", offset: at)
        at += 22
        name = bytes.byteslice(at, length).force_encoding(Encoding::UTF_8)
        at += length
        length = bytes.unpack1("N", offset: at)
        body = bytes.byteslice(at + 4, length)
        at += 4 + length
        cause = bytes.unpack1("Q>", offset: at)
        at += 16
        [kind, ticket, handle, ok == 1, name, body, cause]
      end
    end

    raise LoadError, "trunkline's native library at #{path} has another contract" unless contract_version == CONTRACT_VERSION

    function :version, [], :text
    function :write_stderr, [:text], :void

    raise LoadError, "trunkline's native library at #{path} is #{version}, but the gem is #{VERSION}" unless version == VERSION

    function :nearest, %i[text texts], :optional

    attach_function :new_port, :"#{PREFIX}constructor_port_without_bell", [TYPES[:bytes], Status.by_ref], :uint64
    attach_function :clone_port, :"#{PREFIX}clone_port", [:uint64, Status.by_ref], :uint64
    attach_function :free_port, :"#{PREFIX}free_port", [:uint64, Status.by_ref], :void

    # The functions that every call needs: see `bindings-uniffi/native/plain.rs`.
    attach_function :plain_port, :trunkline_uniffi_plain_port, %i[uint64], :pointer
    attach_function :plain_drain, :trunkline_uniffi_plain_drain, %i[pointer uint32 uint32 pointer uint32], :int64, blocking: true
    attach_function :plain_stand_by, :trunkline_uniffi_plain_stand_by, %i[pointer uint32 uint32], :int64, blocking: true
    attach_function :plain_complete, :trunkline_uniffi_plain_complete, %i[pointer uint64 uint8 buffer_in uint32], :int64
    attach_function :plain_notify, :trunkline_uniffi_plain_notify, %i[pointer uint64 buffer_in uint32], :int64

    # The functions that every call needs, without the structs of uniffi. A negative result means
    # that nothing was done.
    module PlainPort
      # For the events of a batch. A larger one has a buffer of its own.
      BUFFER_SIZE = 65_536
      private_constant :BUFFER_SIZE

      def initialize
        super
        @plain = Native.plain_port(Native.clone_port(@handle, Status.new))
        @events = FFI::MemoryPointer.new(BUFFER_SIZE)
      end

      # Only for the thread that drains the port.
      def drain(max, wait_ms)
        length = Native.plain_drain(@plain, max, wait_ms, @events, BUFFER_SIZE)
        length.negative? ? super : Native.read_events(@events.read_bytes(length))
      end

      # Waits until an event has been pending for a while, but nobody drains it, or the port has ended.
      def stand_by(grace_us, wait_ms) = Native.plain_stand_by(@plain, grace_us, wait_ms)

      def complete(ticket, shape, body)
        done = Native.plain_complete(@plain, ticket, shape, body, body.bytesize)
        done.negative? ? super : done == 1
      end

      def notify(target, json)
        super if Native.plain_notify(@plain, target, json, json.bytesize).negative?
      end
    end

    # A port of the core: the functions of `docs/bridge.md`. JSON crosses as text.
    class Port
      prepend PlainPort

      # The second variant: `snake_case`.
      SNAKE_CASE = [2].pack("N").freeze
      private_constant :SNAKE_CASE

      def initialize
        status = Status.new
        @handle = Native.new_port(Native.buffer(SNAKE_CASE, status), status)
        Native.check(status)
      end

      {
        register: [%i[text text], :uint64],
        unregister: [%i[uint64], :void],
        open: [%i[text], :uint64],
        check: [%i[text], :void],
        open_pipe: [%i[uint64 int32 int32], :uint64],
        close: [%i[uint64 uint64], :void],
        request: [%i[uint64 text], :uint64],
        notify: [%i[uint64 text], :void],
        cancel: [%i[uint64 text], :void],
        complete: [%i[uint64 uint8 bytes], :bool],
        fail: [%i[uint64 text], :bool],
        http_request: [%i[uint64 text int8], :uint64],
        http_body: [%i[uint64 bytes int8], :bool],
        http_credit: [%i[uint64 uint64], :void],
        close_deadline_ms: [%i[uint64], :uint64],
        describe: [%i[uint64], :text],
        telemetry: [%i[uint64 optional], :optional],
        measurements: [[], :optional],
        cancelled: [%i[uint64], :bool]
      }.each { |name, (arguments, result)| Native.function(name, arguments, result, owner: "method_port_", on: self) }

      # Waits without the interpreter's lock.
      Native.function(:drain, %i[uint32 uint32], :events, owner: "method_port_", on: self, blocking: true)
    end
  end
end
