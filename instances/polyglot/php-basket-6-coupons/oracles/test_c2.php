<?php

use PHPUnit\Framework\TestCase;
use Shop\Coupon;

final class LinesOfTheListTest extends TestCase
{
    public static function bad(): array
    {
        return [
            ['SPRING:1O%'], ['SPRING'], ['SPRING:'], ['SPRING:%'], [':10%'], ['SPRING:-5'], ['SPRING:10%%'], ['SPRING:ten'],
            ['SPRING:+10'], ['SPRING: 10%'],
        ];
    }

    /** @dataProvider bad */
    public function testALineThatIsNoneIsRefusedAndNamed(string $line): void
    {
        try {
            Coupon::parse($line);
        } catch (\InvalidArgumentException $error) {
            $this->assertStringContainsString($line, $error->getMessage());

            return;
        }
        $this->fail("$line was taken");
    }

    public function testTheOthersAreReadAsBefore(): void
    {
        $this->assertSame(100, Coupon::parse('SPRING:10%')->off(1000));
        $this->assertSame(500, Coupon::parse('FIVE:500')->off(1000));
        $this->assertSame(5, Coupon::parse('2026:5')->off(1000));
        $this->assertTrue(Coupon::parse('FIVE:500')->isFor('FIVE'));
    }
}
