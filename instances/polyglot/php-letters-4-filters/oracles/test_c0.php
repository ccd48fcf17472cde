<?php

use Letters\Template;
use PHPUnit\Framework\TestCase;

final class FiltersGetWhatWasGivenTest extends TestCase
{
    public function testTheSignsOfHtmlStayWhole(): void
    {
        $this->assertSame('TOM &amp; CO', (new Template('{name|upper}'))->fill(['name' => 'Tom & Co']));
        $this->assertSame('&lt;Ann&gt;', (new Template('{name|short}'))->fill(['name' => '<Ann>']));
        $this->assertSame('&lt;&lt;&lt;&lt; &gt;&gt;&gt;&gt;', (new Template('{a|short}'))->fill(['a' => '<<<< >>>>']));
    }

    public function testAFilterOfOnesOwnSeesTheValue(): void
    {
        $seen = [];
        $letter = new Template('{a|look}', ['look' => static function (string $value) use (&$seen): string {
            $seen[] = $value;

            return "<b>$value</b>";
        }]);
        $this->assertSame('&lt;b&gt;1 &lt; 2&lt;/b&gt;', $letter->fill(['a' => '1 < 2']));
        $this->assertSame(['1 < 2'], $seen);
    }

    public function testWhatIsEscapedAlreadyIsAValueToo(): void
    {
        $this->assertSame('&amp;amp;', (new Template('{a}'))->fill(['a' => '&amp;']));
        $this->assertSame('&amp;AMP;', (new Template('{a|upper}'))->fill(['a' => '&amp;']));
    }
}
