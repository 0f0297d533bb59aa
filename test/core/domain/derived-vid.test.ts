import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { suite, test } from 'node:test';
import fc from 'fast-check';
import { isSubject } from '../../../src/core/domain/cask-scope.ts';
import {
	type DerivationPurpose,
	derivedVid,
	derivedVisitor,
	markOf,
} from '../../../src/core/domain/derived-vid.ts';
import { codePoint } from '../../code-point.ts';
import { examples } from '../../quick.ts';

const secret = 'a-secret-of-an-account';
const seed = '00112233445566778899aabbccddeeff';
const purpose = fc.constantFrom<DerivationPurpose>('seed', 'customer');
/** Texts of few characters, so that parts often join to the same text; and of any, lone surrogates included. */
const part = fc.oneof(
	fc.string({ unit: fc.constantFrom('a', '"', ',', '\\', '\n', '\ud800', '\udc00'), maxLength: 4 }),
	fc.string({ unit: codePoint }),
);
const derivation = fc.tuple(fc.string(), purpose, fc.array(part, { maxLength: 3 }));

suite('a derived vid', () => {
	test('is pinned: it must never change, or every browser would be somebody new', () => {
		assert.equal(derivedVid(secret, 'seed', seed), '0885ba1118ab07e84fcbcbc0e5c8461f');
		assert.equal(derivedVid(secret, 'customer', seed, 'customer-42'), '752b64a6e6c83c7347787efec6422f97');
		assert.equal(
			derivedVid(secret, 'customer', seed, 'Jürgen "€" \u2028'),
			'c1478f3a206aff7c0b6ac961c0fcc913',
		);
		assert.equal(markOf(secret, seed), 'ad5cc7ddf610d678210690eb3b317ad8');
	});

	test('is HMAC-SHA-256 of a JSON list', () => {
		const hmac = createHmac('sha256', secret).update(`["seed","${seed}"]`, 'utf8');
		assert.equal(derivedVid(secret, 'seed', seed), hmac.digest().subarray(0, 16).toString('hex'));
	});

	test('has the shape of a vid', () => {
		fc.assert(
			fc.property(derivation, ([key, what, parts]) => {
				const derived = derivedVisitor(key, what, ...parts);
				assert(isSubject(derived.vid) && isSubject(derived.mark));
				assert.equal(derived.vid, derivedVid(key, what, ...parts));
				assert.equal(derived.mark, markOf(key, derived.vid));
			}),
			{ numRuns: examples(300) },
		);
	});

	test('differs with the secret, the purpose and each part', () => {
		fc.assert(
			fc.property(derivation, derivation, (one, other) => {
				const isSame = JSON.stringify(one) === JSON.stringify(other);
				const [first, second] = [one, other].map(([key, what, parts]) => derivedVid(key, what, ...parts));
				assert.equal(first === second, isSame);
			}),
			{ numRuns: examples(1000) },
		);
	});

	test('is nobody else’s: no seed is its own visitor, no visitor its own mark', () => {
		const vid = derivedVid(secret, 'seed', seed);
		const ids = [
			seed,
			vid,
			markOf(secret, vid),
			markOf(secret, seed),
			derivedVid(secret, 'seed', vid),
			derivedVid(secret, 'customer', seed),
			derivedVid('a-secret-of-another', 'seed', seed),
		];
		assert.equal(new Set(ids).size, ids.length);
	});
});
