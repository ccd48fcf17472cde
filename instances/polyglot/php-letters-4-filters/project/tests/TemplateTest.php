<?php

use Letters\Template;
use PHPUnit\Framework\TestCase;

final class TemplateTest extends TestCase
{
    public function testValuesComeIntoTheirPlaces(): void
    {
        $this->assertSame('Dear Ann &amp; Bob!', (new Template('Dear {name}!'))->fill(['name' => 'Ann & Bob']));
    }
}
