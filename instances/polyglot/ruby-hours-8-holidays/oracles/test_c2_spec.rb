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

  it "takes such texts apart in one place" do
    sources = Dir["lib/**/*.rb"].map { |path| File.read(path) }
    expect(sources.sum { |source| source.scan(/\.split\b|\.match\b|\.match\?|\.scan\b|=~|\.partition\b/).size }).to eq 1
  end
end
