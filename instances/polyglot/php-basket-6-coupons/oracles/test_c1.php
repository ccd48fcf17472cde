<?php

use PHPUnit\Framework\TestCase;
use Shop\Basket;
use Shop\Coupon;

final class NothingIsPaidOutTest extends TestCase
{
    private function total(int $price, string ...$lines): int
    {
        $basket = new Basket();
        $basket->add('cup', $price);
        foreach ($lines as $line) {
            $this->assertTrue($basket->redeem(strtok($line, ':'), Coupon::parse($line)));
        }

        return $basket->total();
    }

    public function testACouponOfMoreThanItCostsMakesItFree(): void
    {
        $this->assertSame(0, $this->total(300, 'FIVE:500'));
        $this->assertSame(0, $this->total(700, 'FIVE:500', 'FOUR:400'));
        $this->assertSame(0, $this->total(300, 'FIVE:500', 'SPRING:10%'));
        $this->assertSame(0, $this->total(300, 'TWICE:200%'));
        $this->assertSame(0, $this->total(300, 'FIVE:500', 'TWICE:200%'));
    }

    public function testOthersTakeOffWhatTheySay(): void
    {
        $this->assertSame(1, $this->total(501, 'FIVE:500'));
        $this->assertSame(0, $this->total(500, 'FIVE:500'));
        $this->assertSame(400, $this->total(1000, 'SPRING:10%', 'FIVE:500'));
        $this->assertSame(450, $this->total(1000, 'FIVE:500', 'SPRING:10%'));
    }
}
