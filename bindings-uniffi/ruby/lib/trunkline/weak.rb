# frozen_string_literal: true

module Trunkline
  # A reference that does not keep its object.
  # @api private
  class Weak
    # Before Ruby 3.3, compaction corrupts an `ObjectSpace::WeakMap` (Ruby bug 19529).
    if RUBY_VERSION >= "3.3"
      def initialize(object)
        @map = ObjectSpace::WeakMap.new
        @map[:object] = object
      end

      # @return [Object, nil] the object, unless it was collected
      def get = @map[:object]
    else
      def initialize(object)
        @id = object.object_id
      end

      # @return [Object, nil] the object, unless it was collected
      def get
        ObjectSpace._id2ref(@id)
      rescue RangeError
        nil
      end
    end
  end
end
