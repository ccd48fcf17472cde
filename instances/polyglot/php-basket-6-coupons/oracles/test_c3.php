<?php

use PHPUnit\Framework\TestCase;
use Shop\Basket;
use Shop\Coupon;
use Shop\Receipt;

final class MoneyInOnePlaceTest extends TestCase
{
    public function testTheSourceFormatsMoneyOnce(): void
    {
        $source = '';
        foreach (glob('src/*.php') as $file) {
            $source .= php_strip_whitespace($file);
        }
        $this->assertSame(1, preg_match_all('/%0?2d|%\.2f|number_format|str_pad/', $source));
    }

    public function testTheReceiptIsAsBefore(): void
    {
        $basket = new Basket();
        $basket->add('tea', 455, 2);
        $basket->add('pin', 7);
        $this->assertSame("2 x tea: 9.10\n1 x pin: 0.07\ntotal: 9.17\n", Receipt::of($basket));
        $basket->redeem('X', Coupon::parse('X:105'));
        $this->assertSame("2 x tea: 9.10\n1 x pin: 0.07\ncoupons: -1.05\ntotal: 8.12\n", Receipt::of($basket));
    }
}
