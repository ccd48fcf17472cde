# frozen_string_literal: true

require "hours"

RSpec.describe Hours do
  subject(:hours) { described_class.new("mon" => "9:00-17:30") }

  it "is open from its first minute up to its last" do
    expect(hours).to be_open(Time.new(2026, 11, 2, 9, 0))
    expect(hours).to be_open(Time.new(2026, 11, 2, 17, 29))
    expect(hours).not_to be_open(Time.new(2026, 11, 2, 17, 30))
  end

  it "is closed on days that are left out" do
    expect(hours).not_to be_open(Time.new(2026, 11, 3, 12, 0))
  end

  it "refuses hours that it cannot read" do
    expect { described_class.new("mon" => "9 to 5") }.to raise_error(ArgumentError, /9 to 5/)
  end
end
