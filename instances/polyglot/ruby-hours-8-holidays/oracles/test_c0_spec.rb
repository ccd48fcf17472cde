# frozen_string_literal: true

require "hours"

RSpec.describe Hours do
  let(:hours) { described_class.new("mon" => "9:00-17:30", "wed" => "8:15-12:30") }

  it "opens on another day once this day's hours are over" do
    expect(hours.next_open(Time.new(2026, 11, 2, 20, 0))).to eq Time.new(2026, 11, 4, 8, 15)
    expect(hours.next_open(Time.new(2026, 11, 4, 12, 45))).to eq Time.new(2026, 11, 9, 9, 0)
  end

  it "is over from the minute that it closes" do
    expect(hours.next_open(Time.new(2026, 11, 2, 17, 30))).to eq Time.new(2026, 11, 4, 8, 15)
  end

  it "opens a week later where no other day has hours" do
    expect(described_class.new("mon" => "9:00-17:30").next_open(Time.new(2026, 11, 2, 18, 0))).to eq Time.new(2026, 11, 9, 9, 0)
  end

  it "goes by a holiday's own hours" do
    early = described_class.new({ "mon" => "9:00-17:30" }, "2026-11-02" => "9:00-13:00", "2026-11-03" => "10:00-11:00")
    expect(early.next_open(Time.new(2026, 11, 2, 15, 0))).to eq Time.new(2026, 11, 3, 10, 0)
  end

  it "opens later on the same day before its hours" do
    expect(hours.next_open(Time.new(2026, 11, 4, 7, 0))).to eq Time.new(2026, 11, 4, 8, 15)
  end

  it "is now while the shop is open" do
    now = Time.new(2026, 11, 4, 9, 3)
    expect(hours.next_open(now)).to eq now
  end
end
