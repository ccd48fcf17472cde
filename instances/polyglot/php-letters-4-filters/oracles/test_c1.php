<?php

use Letters\Template;
use PHPUnit\Framework\TestCase;

final class PlacesWithoutAValueTest extends TestCase
{
    public function testTheyStayAsTheyAre(): void
    {
        $this->assertSame('Dear {name}, 3 days', (new Template('Dear {name}, {days} days'))->fill(['days' => '3']));
        $this->assertSame('Dear {name|upper}!', (new Template('Dear {name|upper}!'))->fill([]));
        $this->assertSame('Dear {name}!', (new Template('Dear {name}!'))->fill(['name' => null]));
    }

    public function testTwoFillingsAreAsGoodAsOne(): void
    {
        $first = (new Template('{a|upper} {b|short} {c}'))->fill(['a' => 'x', 'c' => 'z']);
        $this->assertSame('X {b|short} z', $first);
        $this->assertSame('X y z', (new Template($first))->fill(['b' => 'y']));
    }

    public function testWhatIsEmptyOrZeroIsAValue(): void
    {
        $this->assertSame('[] [0]', (new Template('[{a}] [{b|upper}]'))->fill(['a' => '', 'b' => '0']));
    }
}
