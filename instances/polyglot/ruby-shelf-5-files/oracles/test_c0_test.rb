# frozen_string_literal: true

require "minitest/autorun"
require "shelf/file"
require "tmpdir"

# Notes each of its objects that a file makes.
class Planted
  MADE = []

  def init_with(coder)
    MADE << coder.tag
  end
end

class TakingInTest < Minitest::Test
  ROWS = [
    "- !ruby/object:Planted {isbn: '1', title: One}",
    "- {isbn: '1', title: !ruby/object:Planted {}}",
    "- {isbn: '1', title: One, bought: !rub%79/object:Planted {}}",
    "%TAG !r! !rub\n---\n- !r!y/object:Planted {isbn: '1', title: One}",
  ].freeze

  def setup
    Planted::MADE.clear
  end

  def take_in(text)
    Dir.mktmpdir do |folder|
      File.write("#{folder}/theirs.yml", text)
      Shelf.new.tap { |shelf| shelf.take_in("#{folder}/theirs.yml") }
    end
  rescue StandardError
    nil
  end

  def test_no_file_makes_objects
    ROWS.each { |row| take_in("#{row}\n") }
    assert_empty Planted::MADE
  end

  def test_books_come_back_with_their_dates
    books = [
      Shelf::Book.new(isbn: "9780131103627", title: "The C Programming Language", bought: Date.new(1989, 5, 2)),
      Shelf::Book.new(isbn: "9780201896831", title: "Ruby: a gem", bought: nil),
    ]
    Dir.mktmpdir do |folder|
      Shelf.new(books).save("#{folder}/ours.yml")
      other = Shelf.new
      assert_equal 2, other.take_in("#{folder}/ours.yml")
      assert_equal books, other.to_a
    end
  end

  def test_what_people_write_by_hand_is_taken_in
    assert_equal ["One"], take_in("- isbn: '1'\n  title: One\n").map(&:title)
  end
end
