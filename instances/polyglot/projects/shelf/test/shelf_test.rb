# frozen_string_literal: true

require "minitest/autorun"
require "shelf"

class ShelfTest < Minitest::Test
  BOOK = Shelf::Book.new(isbn: "9780131103627", title: "The C Programming Language", bought: Date.new(1989, 5, 2))

  def test_books_come_in_their_order
    other = Shelf::Book.new(isbn: "9780201896831", title: "The Art of Computer Programming", bought: Date.new(1998, 1, 9))
    assert_equal [BOOK, other], Shelf.new.add(BOOK).add(other).to_a
  end

  def test_a_book_is_added_once
    assert_raises(ArgumentError) { Shelf.new([BOOK]).add(BOOK.dup) }
  end
end
