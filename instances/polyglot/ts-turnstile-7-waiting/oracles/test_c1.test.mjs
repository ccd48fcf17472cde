import assert from 'node:assert/strict';
import test from 'node:test';
import {Bucket, Limiter} from './dist/index.js';

const made = () => {
  const bucket = new Bucket(5, 1, () => 0);
  bucket.take(3);
  return bucket;
};

for (const cost of [-1, -0.5, -Infinity, NaN]) {
  test(`${cost} is refused, and changes nothing`, () => {
    const bucket = made();
    assert.throws(() => bucket.giveBack(cost), RangeError);
    assert.deepEqual([bucket.take(2), bucket.take()], [true, false]);
  });
}

test('a limiter refuses as well', () => {
  const limiter = new Limiter({capacity: 2, perSecond: 1}, () => 0);
  limiter.take('a');
  assert.throws(() => limiter.giveBack('a', -1), RangeError);
});

test('what was taken can be given back', () => {
  const bucket = made();
  bucket.giveBack(2);
  bucket.giveBack(0.5);
  assert.deepEqual([bucket.take(4.5), bucket.take(0.1)], [true, false]);
});
