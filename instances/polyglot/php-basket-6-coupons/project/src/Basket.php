<?php

namespace Shop;

/** What a customer is about to buy; all amounts are in cents. */
final class Basket
{
    /** @var array<string, array{int, int}> */
    private $lines = [];

    /** Puts so many of an article in, each at this price. */
    public function add(string $article, int $price, int $count = 1): void
    {
        $this->lines[$article] = [$price, ($this->lines[$article][1] ?? 0) + $count];
    }

    /** What all of it costs. */
    public function total(): int
    {
        $sum = 0;
        foreach ($this->lines as [$price, $count]) {
            $sum += $price * $count;
        }

        return $sum;
    }
}
