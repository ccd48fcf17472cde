<?php

use PHPUnit\Framework\TestCase;
use Shop\Basket;
use Shop\Coupon;
use Shop\Receipt;

final class MoneyInOnePlaceTest extends TestCase
{
    /** What stands in the quotes of a file. */
    private static function texts(string $file): array
    {
        $texts = [];
        foreach (token_get_all(file_get_contents($file)) as $token) {
            if (is_array($token) && in_array($token[0], [T_CONSTANT_ENCAPSED_STRING, T_ENCAPSED_AND_WHITESPACE], true)) {
                $texts[] = trim($token[1], '\'"');
            }
        }

        return $texts;
    }

    public function testThePointOfMoneyIsInTheSourceOnce(): void
    {
        $points = 0;
        foreach (array_merge(glob('src/*.php'), glob('src/*/*.php')) as $file) {
            foreach (self::texts($file) as $text) {
                $points += preg_match_all('/\A\.\z|(?:\A|[ds])\.%|%[\d\']*\.\d+[fF]/', $text);
            }
        }
        $this->assertSame(1, $points);
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
