import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawOf, personIn } from '../../../../src/capabilities/experiments/domain/draw.ts';
import { openAccount } from '../../../shared-server.ts';

interface Answer {
	readonly segments: readonly { readonly id: string }[];
	readonly experiments?: readonly { readonly experiment: string; readonly group: string }[];
}

test('a held-out visitor does not get the segment, wherever a page asks', async () => {
	const { url, store, accountId, aid, hit, refresh } = await open();
	const experiment = await store.control.createExperiment(accountId, {
		name: 'offer',
		segment: 'new',
		rule: 'visitor.visits <= 1',
		goal: 'subscription',
		holdoutPercent: 50,
		fromMs: store.now(),
		toMs: null,
	});
	await store.control.updateAccount(aid, { tellsExperiments: true });
	await refresh();
	const seen = new Set<string>();
	for (let visitor = 0; visitor < 20; visitor++) {
		const scope = visitor % 2 === 0 ? 'vid' : 'sid';
		const answer = await hit({}, {}, `?include=segments,experiments&scope=${scope}`);
		const { group } = drawOf(experiment, answer.vid);
		seen.add(group);
		const read = async (query: string) =>
			(await (await fetch(`${url}/visscores/segments?cask=${answer.cask}${query}`)).json()) as Answer;
		const expected = {
			segments: group === 'holdout' ? [] : ['new'],
			experiments: [{ experiment: 'offer', group }],
		};
		for (const one of [answer as unknown as Answer, await read('&include=experiments')])
			assert.deepEqual(
				{ segments: one.segments.map(({ id }) => id), experiments: one.experiments },
				expected,
			);
		const plain = await read('');
		assert.deepEqual(
			plain.segments.map(({ id }) => id),
			expected.segments,
		);
		assert.equal('experiments' in plain, false);
	}
	assert.deepEqual([...seen].sort(), ['holdout', 'treated']);
});

test('a planned or stopped experiment holds nobody out, and groups are told only where the account allows it', async () => {
	const { store, accountId, hit, refresh } = await open();
	const about = {
		segment: 'new',
		rule: 'visitor.visits <= 1',
		goal: 'subscription',
		holdoutPercent: 90,
		toMs: null,
	};
	await store.control.createExperiment(accountId, { name: 'stopped', ...about, fromMs: store.now() });
	await store.control.stopExperiment(accountId, 'stopped');
	await store.control.createExperiment(accountId, {
		name: 'planned',
		...about,
		fromMs: store.now() + 60_000,
	});
	await refresh();
	for (let visitor = 0; visitor < 5; visitor++) {
		const answer = (await hit({}, {}, '?include=segments,experiments')) as unknown as Answer;
		assert.deepEqual(
			answer.segments.map(({ id }) => id),
			['new'],
		);
		assert.equal('experiments' in answer, false);
	}
});

test("who shows a customer first, while the experiment runs, decides nobody else's group", async () => {
	const { store, accountId, aid, hit, refresh } = await open();
	const known = await hit({ cid: 'known' });
	const experiment = await store.control.createExperiment(accountId, {
		name: 'offer',
		segment: 'new',
		rule: 'visitor.visits <= 1',
		goal: 'subscription',
		holdoutPercent: 50,
		fromMs: store.now() + 1,
		toMs: null,
	});
	await store.control.updateAccount(aid, { tellsExperiments: true });
	await refresh();
	const groupOf = async (fields: object) => {
		const answer = await hit(fields, {}, '?include=experiments');
		const { experiments } = answer as unknown as Answer;
		return { vid: answer.vid, group: experiments?.[0]?.group };
	};
	let stranger = await groupOf({});
	while (stranger.group !== 'holdout') stranger = await groupOf({});
	const customers = Array.from({ length: 20 }, (_, number) => `customer-${number}`);
	for (const cid of customers) await hit({ vid: stranger.vid, cid });
	assert.equal((await groupOf({ vid: stranger.vid })).group, 'holdout');
	for (const cid of customers) {
		const { vid, group } = await groupOf({ cid });
		assert.equal(group, drawOf(experiment, vid).group);
	}
	// Who had shown the customer before is drawn as the customer, on every device.
	const participant = { vid: known.vid, customer: { cid: 'known', atMs: 0 } };
	assert.equal(
		(await groupOf({ vid: known.vid })).group,
		drawOf(experiment, personIn(experiment, participant)).group,
	);
});

async function open() {
	const account = await openAccount();
	const { id } = await account.store.control.account(account.aid);
	return { ...account, accountId: id, refresh: () => account.directory.refresh() };
}
