<?php

use PHPUnit\Framework\TestCase;

final class TestsOfUpperTest extends TestCase
{
    private const LETTERS = <<<'END'
        <?php

        namespace Letters;

        final class Template
        {
            private $text;
            private $filters;

            public function __construct(string $text, array $filters = [])
            {
                $this->text = $text;
                $this->filters = $filters + ['upper' => UPPER, 'title' => 'ucwords', 'short' => 'strval'];
            }

            public function fill(array $values): string
            {
                return preg_replace_callback('/\{(\w+)(?:\|(\w+))?\}/', function (array $found) use ($values): string {
                    $value = (string) ($values[$found[1]] ?? $found[0]);

                    return htmlspecialchars(isset($found[2]) ? $this->filters[$found[2]]($value) : $value);
                }, $this->text);
            }
        }
        END;

    /** How many of the project's tests fail where letters are made in this way. */
    private function failures(string $upper): int
    {
        $folder = sys_get_temp_dir();
        file_put_contents("$folder/letters.php", str_replace('UPPER', $upper, self::LETTERS));
        exec("phpunit --no-configuration --do-not-cache-result --bootstrap $folder/letters.php "
            . "--log-junit $folder/report.xml tests 2>&1", $said);
        $report = simplexml_load_file("$folder/report.xml");
        $this->assertGreaterThan(0, (int) $report->testsuite['tests'], implode("\n", $said));

        return (int) $report->testsuite['failures'] + (int) $report->testsuite['errors'];
    }

    public function testOneFailsWhereUpperDoesNothing(): void
    {
        $this->assertGreaterThan($this->failures("'mb_strtoupper'"), $this->failures("'strval'"));
    }
}
