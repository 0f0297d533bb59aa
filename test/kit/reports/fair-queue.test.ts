import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { QueueFullError } from '../../../src/core/errors.ts';
import { FairQueue } from '../../../src/kit/reports/fair-queue.ts';
import { examples } from '../../quick.ts';

/** A job that ends when it is told to, or when its signal is aborted. */
function heldJob(queue: FairQueue<string>, client: string, begun: string[]) {
	const { promise, resolve, reject } = Promise.withResolvers<void>();
	const controller = new AbortController();
	const { signal } = controller;
	const outcome = queue
		.run(client, signal, () => {
			begun.push(client);
			signal.addEventListener('abort', () => reject(signal.reason));
			return promise;
		})
		.then(
			() => 'done',
			(error) => (error instanceof QueueFullError ? 'refused' : 'abandoned'),
		);
	return { client, finish: resolve, abandon: () => controller.abort(), outcome };
}

test('one job runs, exactly four of a client wait, and what another client waits for does not count', async () => {
	const queue = new FairQueue<string>(4);
	const begun: string[] = [];
	const jobs = ['a', 'a', 'a', 'a', 'a', 'a', 'b'].map((client) => heldJob(queue, client, begun));
	assert.equal(await jobs[5]?.outcome, 'refused');
	for (const each of jobs) each.finish();
	const outcomes = await Promise.all(jobs.map(({ outcome }) => outcome));
	assert.deepEqual(outcomes, ['done', 'done', 'done', 'done', 'done', 'refused', 'done']);
	assert.deepEqual(begun, ['a', 'b', 'a', 'a', 'a', 'a']);
});

test('what nobody waits for gives up its place at once, and never begins', async () => {
	const queue = new FairQueue<string>(1);
	const begun: string[] = [];
	const running = heldJob(queue, 'a', begun);
	const waiting = heldJob(queue, 'a', begun);
	waiting.abandon();
	assert.equal(await waiting.outcome, 'abandoned');
	const next = heldJob(queue, 'a', begun);
	running.abandon();
	assert.equal(await running.outcome, 'abandoned');
	next.finish();
	assert.equal(await next.outcome, 'done');
	assert.equal(begun.length, 2);
	await assert.rejects(
		queue.run('a', AbortSignal.abort(), async () => assert.fail()),
		{ name: 'AbortError' },
	);
});

const maxWaiting = 2;
const step = fc.oneof(
	fc.record({ type: fc.constant('ask' as const), client: fc.constantFrom('a', 'b', 'c') }),
	fc.record({ type: fc.constantFrom('finish' as const, 'abandon' as const), at: fc.nat(5) }),
);

test('whatever comes: one job at a time, nobody waits beyond a round of turns, and the queue runs dry', async () => {
	await fc.assert(
		fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
			const queue = new FairQueue<string>(maxWaiting);
			const begun: string[] = [];
			let open: ReturnType<typeof heldJob>[] = [];
			const overtaken = new Map<string, Set<string>>();
			const waitingOf = (client: string) => open.slice(1).filter((job) => job.client === client).length;
			for (const each of steps) {
				const count = begun.length;
				if (each.type === 'ask') {
					const expected = open.length > 0 && waitingOf(each.client) >= maxWaiting ? 'refused' : undefined;
					if (!overtaken.has(each.client)) overtaken.set(each.client, new Set());
					const job = heldJob(queue, each.client, begun);
					if (expected) assert.equal(await job.outcome, expected);
					else open.push(job);
				} else {
					const job = open[each.type === 'finish' ? 0 : each.at % Math.max(1, open.length)];
					if (!job) continue;
					job[each.type]();
					assert.equal(await job.outcome, each.type === 'finish' ? 'done' : 'abandoned');
					open = open.filter((other) => other !== job);
				}
				await setImmediate();
				assert.ok(begun.length - count <= 1);
				if (begun.length === count) continue;
				const turn = begun.at(-1) as string;
				// The job that runs stands first.
				const runs = open.findIndex((job) => job.client === turn);
				open.unshift(...open.splice(runs, 1));
				overtaken.delete(turn);
				for (const [client, by] of overtaken) {
					if (waitingOf(client) === 0) overtaken.delete(client);
					else {
						assert.ok(!by.has(turn), `${client} was overtaken twice by ${turn}`);
						by.add(turn);
					}
				}
				if (waitingOf(turn) > 0) overtaken.set(turn, new Set());
			}
			for (const job of open) job.finish();
			for (const job of open) assert.equal(await job.outcome, 'done');
		}),
		{ numRuns: examples(300) },
	);
});
