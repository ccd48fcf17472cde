<?php

use Letters\Template;
use PHPUnit\Framework\TestCase;

final class UnknownFiltersTest extends TestCase
{
    private function refusal(string $text, array $filters = []): ?string
    {
        try {
            new Template($text, $filters);
        } catch (\InvalidArgumentException $error) {
            return $error->getMessage();
        }

        return null;
    }

    public function testALetterThatAsksForOneIsRefusedWithItsName(): void
    {
        $this->assertStringContainsString('uper', (string) $this->refusal('{name|uper}'));
        $this->assertStringContainsString('shout', (string) $this->refusal('{name|upper} {name} {name|shout}'));
    }

    public function testOthersAreTaken(): void
    {
        $shout = ['shout' => static function (string $value): string {
            return "$value!";
        }];
        $this->assertNull($this->refusal('{name|upper} {name|title} {name|short} {name} a|b {c | d}'));
        $this->assertNull($this->refusal('{name|shout}', $shout));
        $this->assertSame('Ann!', (new Template('{name|shout}', $shout))->fill(['name' => 'Ann']));
    }
}
