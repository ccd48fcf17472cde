# frozen_string_literal: true

class Hours
  # A part of a day in minutes: +to+ is the first that is no longer in it.
  Span = Struct.new(:from, :to) do
    # Reads "9:00-17:30". Raises ArgumentError.
    def self.parse(text)
      read = /\A(\d{1,2}):(\d\d)-(\d{1,2}):(\d\d)\z/.match(text)
      raise ArgumentError, "#{text.inspect} should be like 9:00-17:30" unless read

      from, to = read.captures.map(&:to_i).each_slice(2).map { |hour, minute| hour * 60 + minute }
      raise ArgumentError, "#{text.inspect} ends before it begins" unless from < to

      new(from, to)
    end

    def cover?(time)
      (from...to).cover?(time.hour * 60 + time.min)
    end
  end
end
