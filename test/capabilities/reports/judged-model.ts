import type { OpenStore } from '../../../src/core/store/store.ts';

/** Stores an active model that was judged on 1,000 visitors, as test/docs/reports-by-hand.md tells. Nobody is scored by it. */
export async function keepJudgedModel(store: OpenStore, accountId: number): Promise<void> {
	const roc = [
		{ falsePositives: 0, truePositives: 0 },
		{ falsePositives: 40 / 900, truePositives: 0.4, score: 0.5 },
		{ falsePositives: 200 / 900, truePositives: 0.8, score: 0.2 },
		{ falsePositives: 1, truePositives: 1, score: 0.01 },
	];
	const later = { rows: 1000, visitors: 1000, conversions: 100, convertedRows: 100, visitorRate: 0.1, roc };
	const model = {
		goal: 'subscription',
		scope: 'vid',
		body: '{}',
		report: JSON.stringify({ later }),
	} as const;
	await store.control.insertModel(accountId, model, 'activate it');
}
