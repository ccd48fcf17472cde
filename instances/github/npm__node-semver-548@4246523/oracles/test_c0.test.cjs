// What cannot be incremented without a number is refused, and everything else goes on as before.
const assert = require('node:assert/strict')
const test = require('node:test')

const SemVer = require('./classes/semver')
const inc = require('./functions/inc')

const refused = [
  ['1.2.3-dev', 'prerelease', 'dev'],
  ['4.0.0-beta', 'prerelease', 'beta'],
  ['1.2.0', 'prerelease', ''],
  ['1.2.0', 'prerelease', undefined],
  ['1.2.3-dev', 'prerelease', undefined],
  ['1.2.0', 'premajor', ''],
  ['1.2.0', 'preminor', undefined],
  ['1.2.0', 'prepatch', ''],
  ['1.2.3-dev', 'preminor', undefined],
  ['1.2.3-4', 'prerelease', undefined],
  ['1.2.3-dev.1', 'prerelease', ''],
]

for (const [version, release, identifier] of refused) {
  test(`${version}, ${release} with ${JSON.stringify(identifier)} and no number is refused`, () => {
    assert.throws(() => new SemVer(version).inc(release, identifier, false), Error)
    assert.equal(inc(version, release, {}, identifier, false), null)
  })
}

const given = [
  ['1.2.0-1', 'prerelease', 'alpha', false, '1.2.0-alpha'],
  ['1.2.1', 'prerelease', 'alpha', false, '1.2.2-alpha'],
  ['1.2.0', 'prepatch', 'dev', false, '1.2.1-dev'],
  ['1.2.3-1', 'premajor', 'dev', false, '2.0.0-dev'],
  ['1.2.0-dev', 'premajor', 'dev', false, '2.0.0-dev'],
  ['1.2.0-dev', 'preminor', 'beta', false, '1.3.0-beta'],
  ['1.2.0-dev', 'prerelease', 'beta', false, '1.2.0-beta'],
  ['1.2.3-dev', 'prerelease', 'dev', '0', '1.2.3-dev.0'],
  ['1.2.3-dev', 'prerelease', 'dev', '1', '1.2.3-dev.1'],
  ['1.2.3-dev', 'prerelease', 'dev', undefined, '1.2.3-dev.0'],
  ['1.2.3', 'prerelease', undefined, undefined, '1.2.4-0'],
  ['1.2.3-4', 'prerelease', '', undefined, '1.2.3-5'],
  ['1.2.3-dev.1', 'prerelease', 'beta', false, '1.2.3-beta'],
  ['1.2.3-dev.bar', 'prerelease', 'dev', false, '1.2.3-dev'],
  ['1.2.3-dev', 'prepatch', 'dev', false, '1.2.4-dev'],
  ['1.2.3-dev.1', 'prerelease', 'dev', undefined, '1.2.3-dev.2'],
  ['1.2.3', 'prerelease', undefined, '1', '1.2.4-1'],
  ['1.2.3-dev', 'minor', undefined, false, '1.3.0'],
  ['1.2.3-4', 'patch', undefined, false, '1.2.3'],
  ['1.2.3', 'major', undefined, false, '2.0.0'],
]

for (const [version, release, identifier, base, expected] of given) {
  test(`${version}, ${release} with ${identifier} and ${base} is ${expected}`, () => {
    assert.equal(inc(version, release, {}, identifier, base), expected)
  })
}
