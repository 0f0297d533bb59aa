import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { test } from 'node:test';
import { lines, prove } from '../../proof/scoring.ts';
import { takesLong } from '../../quick.ts';

/** The short form of `npm run proof:scoring`: one line where boosting is better, and one where it is not. */
for (const name of ['Shoppers, November and December', 'CDNOW all, 13 weeks ahead']) {
	const line = lines.find((other) => other.name === name);
	const missing = line?.files.find((file) => !existsSync(file));
	test(`${name}: as good as the baselines`, {
		skip: takesLong || (missing ? 'the data is not there' : false),
	}, async () => {
		assert.ok(line);
		const { shortfalls, kind } = await prove(line, { seed: 1, every: 6 });
		assert.deepEqual(shortfalls, []);
		assert.equal(kind, name.startsWith('Shoppers') ? 'boosting' : 'logistic');
	});
}
