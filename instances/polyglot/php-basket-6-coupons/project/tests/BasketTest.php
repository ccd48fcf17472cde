<?php

use PHPUnit\Framework\TestCase;
use Shop\Basket;

final class BasketTest extends TestCase
{
    public function testAnEmptyBasketCostsNothing(): void
    {
        $this->assertSame(0, (new Basket())->total());
    }

    public function testArticlesAreCounted(): void
    {
        $basket = new Basket();
        $basket->add('tea', 450, 2);
        $basket->add('tea', 450);
        $basket->add('cup', 1200);
        $this->assertSame(2550, $basket->total());
    }
}
