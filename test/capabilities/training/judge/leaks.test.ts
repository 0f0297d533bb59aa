import assert from 'node:assert/strict';
import { test } from 'node:test';
import { likelyLeaks } from '../../../../src/capabilities/training/judge/leaks.ts';
import { datasetOf } from '../../../../src/capabilities/training/rows/dataset.ts';
import { featureSet } from '../../../../src/core/scoring/rows/features.ts';
import { seededRandom } from '../../../../src/kit/random.ts';

const features = featureSet(['signal', 'noise', 'page:thanks', 'subscriptions'], ['lastPage']);

/** Visitors with two rows each; a third of them converts after the first. */
function rows(options: {
	thanked: number;
	signal?: 'some' | 'all';
	lastPage?: (converts: boolean) => string;
}) {
	const random = seededRandom(1);
	let thanked = 0;
	const { signal = 'some', lastPage = () => 'home' } = options;
	return datasetOf(
		features,
		Array.from({ length: 600 }, (_, visitor) => visitor).flatMap((visitor) => {
			const converts = random() < 1 / 3;
			const isThanked = converts && thanked++ < options.thanked;
			const tells = signal === 'all' ? Number(converts) : Number(converts) + 2 * random();
			return [0, 1].map((time) => ({
				// Who has converted has been thanked and has a subscription, at the second row for the first time or not.
				numeric: [tells, random(), isThanked ? 1 : Number.NaN, converts && time === 1 ? 1 : 0],
				categorical: [lastPage(converts)],
				label: (converts && time === 0 ? 1 : 0) as 0 | 1,
				atMs: time * 1000 + visitor,
				group: `visitor ${visitor}`,
			}));
		}),
	);
}

test('a strong feature is no leak, nor what only those have who have converted before', () => {
	assert.deepEqual(likelyLeaks(rows({ thanked: 0 })), []);
});

test('what everybody has who then converts, and nobody else, is named with the number of visitors', () => {
	assert.deepEqual(likelyLeaks(rows({ thanked: 60 })), [
		{ feature: 'page:thanks', why: 'only converters', visitors: 60 },
	]);
	const [text] = likelyLeaks(rows({ thanked: 0, lastPage: (converts) => (converts ? 'thanks' : 'home') }));
	assert.deepEqual([text?.feature, text?.text, text?.why], ['lastPage', 'thanks', 'only converters']);
});

test('fewer visitors than a model needs name nothing', () => {
	assert.deepEqual(likelyLeaks(rows({ thanked: 29 })), []);
});

test('a feature that explains nearly all by itself is named', () => {
	const random = seededRandom(2);
	const dataset = datasetOf(
		featureSet(['score'], []),
		Array.from({ length: 1000 }, (_, row) => {
			const label = Number(random() < 0.2) as 0 | 1;
			const isWrong = random() < 0.005;
			return { numeric: [isWrong ? random() : label + random() / 10], categorical: [], label, atMs: row };
		}),
	);
	assert.deepEqual(likelyLeaks(dataset), [{ feature: 'score', why: 'explains nearly all', visitors: 1000 }]);
});
