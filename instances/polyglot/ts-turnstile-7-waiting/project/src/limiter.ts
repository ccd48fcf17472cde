import {Bucket, type Clock} from './bucket.js';

/** The capacity of each bucket, and how much it gains in a second. */
export interface Rate {
  capacity: number;
  perSecond: number;
}

/** One bucket for each key, made when it is first used. */
export class Limiter {
  private readonly buckets = new Map<string, Bucket>();

  constructor(
    private readonly rate: Rate,
    private readonly now: Clock = Date.now,
  ) {}

  /** How many keys are remembered. */
  get size(): number {
    return this.buckets.size;
  }

  /** Take from the bucket of a key if there is enough, and tell whether there was. */
  take(key: string, cost = 1): boolean {
    return this.bucket(key).take(cost);
  }

  /** Forget the keys whose bucket is full. */
  sweep(): void {
    for (const [key, bucket] of this.buckets) {
      if (bucket.full) {
        this.buckets.delete(key);
      }
    }
  }

  private bucket(key: string): Bucket {
    const known = this.buckets.get(key);
    if (known !== undefined) {
      return known;
    }
    const made = new Bucket(this.rate.capacity, this.rate.perSecond, this.now);
    this.buckets.set(key, made);
    return made;
  }
}
