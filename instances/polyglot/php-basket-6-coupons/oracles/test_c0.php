<?php

use PHPUnit\Framework\TestCase;
use Shop\Basket;
use Shop\Coupon;

final class LookalikesTest extends TestCase
{
    public static function lookalikes(): array
    {
        return [['1000', '1e3'], ['100', '0100'], ['100', ' 100'], ['7', '7.0'], ['0e12', '0e34'], ['10', '+10']];
    }

    /** @dataProvider lookalikes */
    public function testAnotherNumberIsAnotherCode(string $code, string $typed): void
    {
        $basket = new Basket();
        $basket->add('tea', 1000);
        $this->assertFalse(Coupon::parse("$code:10%")->isFor($typed));
        $this->assertFalse($basket->redeem($typed, Coupon::parse("$code:10%")));
        $this->assertSame(1000, $basket->total());
    }

    public function testTheCodeItselfIsTaken(): void
    {
        foreach (['1000', '1e3', 'SPRING', '0'] as $code) {
            $basket = new Basket();
            $basket->add('tea', 1000);
            $this->assertTrue($basket->redeem($code, Coupon::parse('OTHER:5%'), Coupon::parse("$code:10%")));
            $this->assertSame(900, $basket->total());
        }
    }
}
