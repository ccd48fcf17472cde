# frozen_string_literal: true

require "fileutils"
require "minitest/autorun"
require "rbconfig"
require "tmpdir"

# Runs the project's own tests beside a `save` that is broken.
class OwnTestsTest < Minitest::Test
  EMPTY = "class Shelf\n  def save(path) = File.write(path, \"--- []\\n\")\nend\n"
  NO_DATES = "class Shelf\n  def save(path)\n    rows = map { |book| { 'isbn' => book.isbn, 'title' => book.title } }\n" \
             "    File.write(path, YAML.dump(rows))\n  end\nend\n"

  def green?(more = "")
    Dir.mktmpdir do |folder|
      FileUtils.cp_r(%w[lib test], folder)
      File.write("#{folder}/lib/shelf/file.rb", more, mode: "a")
      load = 'Dir["./test/*_test.rb"].sort.each { |file| require file }'
      quiet = { out: File::NULL, err: File::NULL }
      system(RbConfig.ruby, "-Ilib", "-Itest", "-e", load, chdir: folder, **quiet)
    end
  end

  def test_they_are_green
    assert green?
  end

  def test_they_see_that_nothing_is_saved
    refute green?(EMPTY)
  end

  def test_they_see_that_a_part_of_each_book_is_lost
    refute green?(NO_DATES)
  end
end
