<?php

namespace Letters;

/** A letter in HTML with places such as `{name}`. */
final class Template
{
    private $text;

    public function __construct(string $text)
    {
        $this->text = $text;
    }

    /** Puts values into their places, escaped; a place that has none stays as it is. */
    public function fill(array $values): string
    {
        return preg_replace_callback('/\{(\w+)\}/', static function (array $found) use ($values): string {
            return isset($values[$found[1]]) ? htmlspecialchars($values[$found[1]]) : $found[0];
        }, $this->text);
    }
}
