import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { featureRows } from '../../../src/capabilities/training/rows/dataset.ts';
import { seededRandom } from '../../../src/kit/random.ts';
import { customers, liftAims } from '../../proof/hillstrom.ts';
import { takesLong } from '../../quick.ts';

/** The short form of the proof of lift: a made-up file in the format of the MineThatData e-mail challenge. */
const folder = mkdtempSync(join(tmpdir(), 'emails-'));
after(() => rmSync(folder, { recursive: true }));
const file = join(folder, 'emails.csv');
const header =
	'recency,history_segment,history,mens,womens,zip_code,newbie,channel,segment,visit,conversion,spend';
const random = seededRandom(1);
const one = <Item>(items: readonly Item[]) => items[Math.floor(random() * items.length)] as Item;
const lines = Array.from({ length: 4500 }, () => {
	const segment = one(['Womens E-Mail', 'Mens E-Mail', 'No E-Mail']);
	const womens = one([0, 1]);
	const persuaded = womens === 1 && segment === 'Womens E-Mail' ? 0.2 : 0;
	const visit = random() < 0.1 + persuaded ? 1 : 0;
	const ofHistory = one(['1) $0 - $100', '"6) $750 - $1,000"']);
	return `${one([1, 5, 9])},${ofHistory},${(random() * 900).toFixed(2)},${1 - womens},${womens},${one(['Urban', 'Rural'])},${one([0, 1])},${one(['Web', 'Phone'])},${segment},${visit},0,0`;
});
writeFileSync(file, `${[header, ...lines].join('\n')}\n`);

test('the file of the e-mail challenge is read: customers of one e-mail and of none', () => {
	const { dataset, treated } = customers(file, ['Womens E-Mail']);
	const wanted = lines.filter((line) => !line.includes(',Mens E-Mail,'));
	assert.equal(dataset.rows, wanted.length);
	assert.deepEqual(
		[...treated],
		wanted.map((line) => (line.includes(',Womens E-Mail,') ? 1 : 0)),
	);
	assert.deepEqual(
		[...dataset.labels],
		wanted.map((line) => Number(line.split(',').at(-3))),
	);
	const [first] = featureRows(dataset);
	const values = wanted[0]?.split(',') ?? [];
	assert.deepEqual(first?.categorical, [
		wanted[0]?.includes('"') ? '6) $750 - $1,000' : '1) $0 - $100',
		values.at(-7),
		values.at(-5),
	]);
});

test('lift is ordered about as well as by the baselines', { skip: takesLong }, () => {
	const aims = [...liftAims(file, 2)];
	assert.equal(aims.length, 4);
	const [ofWomens] = aims;
	assert.match(ofWomens?.name ?? '', /^Lift of Womens E-Mail: Qini 0\.(1[5-9]|[2-9])/u);
	assert.ok((ofWomens?.values[0] ?? 1) < 0.02, `${ofWomens?.values[0]}`);
});
