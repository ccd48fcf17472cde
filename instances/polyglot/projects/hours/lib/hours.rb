# frozen_string_literal: true

require "hours/span"

# The hours of a shop.
class Hours
  DAYS = %w[sun mon tue wed thu fri sat].freeze

  # +week+ has the hours of each day by its name; a day that is left out is closed.
  def initialize(week)
    @week = week.transform_values { |text| Span.parse(text) }
  end

  def open?(time)
    span = @week[DAYS[time.wday]]
    !span.nil? && span.cover?(time)
  end
end
