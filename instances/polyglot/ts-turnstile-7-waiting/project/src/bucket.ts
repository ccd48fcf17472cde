/** Tells the time in milliseconds, as Date.now does. */
export type Clock = () => number;

/** Holds up to `capacity` tokens, and gains `perSecond` of them each second. */
export class Bucket {
  private tokens: number;
  private seen: number;

  constructor(
    readonly capacity: number,
    readonly perSecond: number,
    private readonly now: Clock = Date.now,
  ) {
    this.tokens = capacity;
    this.seen = now();
  }

  /** Whether nothing can be added. */
  get full(): boolean {
    this.refill();
    return this.tokens >= this.capacity;
  }

  /** Take tokens if there are enough, and tell whether there were. */
  take(cost = 1): boolean {
    this.refill();
    if (this.tokens < cost) {
      return false;
    }
    this.tokens -= cost;
    return true;
  }

  private refill(): void {
    const time = this.now();
    this.tokens = Math.min(this.capacity, this.tokens + ((time - this.seen) / 1000) * this.perSecond);
    this.seen = time;
  }
}
