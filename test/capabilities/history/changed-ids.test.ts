import assert from 'node:assert/strict';
import { randomBytes, randomInt, randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { changeOf, IdColumns } from '../../../src/capabilities/history/changed-ids.ts';

const count = 2000;

/** Ids as programs make them. */
const kinds: Readonly<Record<string, (index: number) => string>> = {
	'a UUID': () => randomUUID(),
	'hex digits': () => randomBytes(4).toString('hex'),
	base64: () => randomBytes(9).toString('base64'),
	'base64 for addresses': () => randomBytes(6).toString('base64url'),
	'a payment provider': () => `pi_${randomBytes(12).toString('base64url')}`,
	"a shop's order": (index) => `#${1000 + index}`,
	'a counter': (index) => String(index),
	'a counter with zeros in front': (index) => String(index).padStart(9, '0'),
	'a row of a large table': () => String(randomInt(4_000_000_000)),
	'a snowflake': (index) =>
		String((1_764_184_000_000n << 22n) + BigInt(index) * 4_194_304n + BigInt(randomInt(4096))),
	'a time in milliseconds': (index) => String(1_764_184_000_000 + index),
	'a time in nanoseconds': (index) => `${1_764_184_000_000 + index}000000`,
	'a day': (index) => new Date(Date.UTC(2020, 0, 1 + index)).toISOString().slice(0, 10),
	'a time': (index) => new Date(Date.UTC(2020, 0, 1, index)).toISOString(),
	'an email address': (index) => `o'hara+${index}@example.com`,
	'a name': (index) => `Zoë Müller-${index}`,
	'a version': (index) => `1.${index}.10`,
};

test('ids as programs make them are not taken for changed ones, alone or as a column', () => {
	for (const [kind, idOf] of Object.entries(kinds)) {
		const columns = new IdColumns();
		for (let index = 0; index < count; index++) {
			const id = idOf(index);
			assert.equal(changeOf(id), undefined, `${kind} ${id}`);
			columns.addAll({ id }, ['id'], index + 2);
		}
		assert.doesNotThrow(() => columns.check(kind), kind);
	}
});

test('ids of which a spreadsheet has kept fifteen digits, or no zeros, are found in each column', () => {
	const rounded = new IdColumns();
	for (let index = 0; index < count; index++)
		rounded.addAll(
			{ id: `${randomInt(100_000, 999_999)}${randomInt(100_000_000, 999_999_999)}000` },
			['id'],
			index + 2,
		);
	assert.throws(() => rounded.check('a file'), /a file:2: id has only zeros after 15 digits/);
	const mixed = new IdColumns();
	for (let index = 0; index < count; index++)
		mixed.addAll({ id: index % 2 === 0 ? String(index) : String(index).padStart(6, '0') }, ['id'], index + 2);
	assert.throws(
		() => mixed.check('a file'),
		/a file:2: id has 1 digit, where others have 6 with zeros in front/,
	);
});
