# frozen_string_literal: true

require "hours"

RSpec.describe Hours do
  ["9-13", "13:00-9:00", "9:00", "9:00-12", "nine", ""].each do |text|
    it "refuses #{text.inspect} for a holiday as for a day of the week" do
      expect { described_class.new("mon" => text) }.to raise_error(ArgumentError)
      expect { described_class.new({}, "2026-12-24" => text) }.to raise_error(ArgumentError)
    end
  end

  it "reads a holiday's hours" do
    eve = described_class.new({}, "2026-12-24" => "9:00-13:00", "2026-12-25" => nil)
    expect([9, 12, 13].map { |hour| eve.open?(Time.new(2026, 12, 24, hour, 0)) }).to eq [true, true, false]
    expect(eve).not_to be_open(Time.new(2026, 12, 25, 9, 0))
  end

  # Runs a block; what is called of texts and patterns in lib, by its place, and the methods of lib.
  def calls
    found = { reading: [], methods: [] }
    trace = TracePoint.new(:c_call, :call) do |call|
      next unless call.path.include?("/lib/hours")

      found[:methods] << call.method_id if call.event == :call
      found[:reading] << [call.path, call.lineno] if [String, Regexp, MatchData].include?(call.defined_class)
    end
    trace.enable { yield }
    found.transform_values { |all| all.uniq.sort }
  end

  it "takes such texts apart in one place" do
    day = calls { described_class.new("mon" => "9:00-13:00") }
    holiday = calls { described_class.new({}, "2026-12-24" => "9:00-13:00") }
    expect(day[:reading]).not_to be_empty
    expect(holiday[:reading]).to eq day[:reading]
    expect(described_class.private_instance_methods(false) & [:special] - holiday[:methods]).to eq []
  end
end
