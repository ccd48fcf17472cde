# frozen_string_literal: true

require "hours"
require "timeout"

RSpec.describe Hours do
  let(:november) { Time.new(2026, 11, 2, 7, 0) }

  around { |example| Timeout.timeout(10) { example.run } }

  it "has nothing to say of a shop without hours" do
    expect(described_class.new({}).next_open(november)).to be_nil
  end

  it "has nothing to say where all dates with hours are over" do
    spring = { "2026-04-06" => "10:00-16:00", "2026-12-24" => nil }
    expect(described_class.new({}, spring).next_open(november)).to be_nil
  end

  it "has nothing to say of a date that is years away" do
    expect(described_class.new({}, "2035-06-01" => "10:00-16:00").next_open(november)).to be_nil
  end

  it "finds the one date of next season" do
    expect(described_class.new({}, "2027-06-01" => "10:00-16:00").next_open(november)).to eq Time.new(2027, 6, 1, 10, 0)
  end

  it "finds the end of long holidays" do
    closed = { "2026-11-02" => nil, "2026-11-09" => nil, "2026-11-16" => nil }
    expect(described_class.new({ "mon" => "9:00-17:30" }, closed).next_open(november)).to eq Time.new(2026, 11, 23, 9, 0)
  end
end
