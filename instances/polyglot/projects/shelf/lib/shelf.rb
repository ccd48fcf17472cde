# frozen_string_literal: true

require "date"

# The books of a household, in the order in which they came.
class Shelf
  include Enumerable

  Book = Struct.new(:isbn, :title, :bought, keyword_init: true)

  def initialize(books = [])
    @books = books.dup
  end

  def each(&block)
    @books.each(&block)
    self
  end

  # Raises ArgumentError for a book that is there already.
  def add(book)
    raise ArgumentError, "#{book.isbn} is there already" if any? { |other| other.isbn == book.isbn }

    @books << book
    self
  end
end
