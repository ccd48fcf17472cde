import assert from 'node:assert/strict';
import test from 'node:test';
import {Bucket} from './dist/index.js';

for (const taken of [0, 2, 5]) {
  test(`what never fits is never there, with ${taken} taken`, () => {
    const bucket = new Bucket(5, 1, () => 0);
    bucket.take(taken);
    assert.equal(bucket.delay(6), Infinity);
    assert.equal(bucket.delay(5.5), Infinity);
  });
}

test('what fits is there in time', () => {
  let time = 0;
  const bucket = new Bucket(5, 2, () => time);
  assert.equal(bucket.delay(5), 0);
  bucket.take(5);
  assert.equal(bucket.delay(5), 2500);
  assert.equal(bucket.delay(), 500);
  time = 2500;
  assert.equal(bucket.delay(5), 0);
});
