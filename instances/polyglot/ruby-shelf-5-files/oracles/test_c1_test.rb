# frozen_string_literal: true

require "minitest/autorun"
require "shelf/file"
require "tmpdir"

# Counts how often it is compared.
class Isbn < String
  class << self
    attr_accessor :compared
  end

  def ==(other)
    Isbn.compared += 1
    super
  end
  alias eql? ==

  def to_s = self
  alias to_str to_s
end

# Counts how often books are asked for their numbers.
module Asked
  class << self
    attr_accessor :count
  end

  def isbn
    Asked.count += 1
    super
  end

  def [](name)
    Asked.count += 1
    super
  end
end

class ManyBooksTest < Minitest::Test
  SIZE = 400

  def file(*books)
    Dir.mktmpdir do |folder|
      Shelf.new(books).save("#{folder}/theirs.yml")
      yield "#{folder}/theirs.yml"
    end
  end

  def book(number, title = "Book #{number}")
    Shelf::Book.new(isbn: number.to_s, title: title)
  end

  def test_each_book_is_looked_at_a_few_times
    file(*(0...SIZE).map { |number| book(number + SIZE / 2) }) do |path|
      shelf = Shelf.new((0...SIZE).map { |number| book(number) })
      shelf.each { |one| one.isbn = Isbn.new(one.isbn) }
      shelf.each { |one| one.extend(Asked) }
      Isbn.compared = Asked.count = 0
      assert_equal SIZE / 2, shelf.take_in(path)
      assert_operator Isbn.compared + Asked.count, :<, SIZE * 20
    end
  end

  def test_what_is_there_stays_and_the_rest_comes_in_its_order
    file(book(3), book(1, "Eins"), book(2)) do |path|
      shelf = Shelf.new([book(1)])
      assert_equal 2, shelf.take_in(path)
      assert_equal ["Book 1", "Book 3", "Book 2"], shelf.map(&:title)
      assert_equal 0, shelf.take_in(path)
    end
  end

  def test_a_book_that_is_twice_in_a_file_comes_once
    file(book(1), book(1, "Again"), book(2)) do |path|
      shelf = Shelf.new
      assert_equal 2, shelf.take_in(path)
      assert_equal ["Book 1", "Book 2"], shelf.map(&:title)
    end
  end
end
