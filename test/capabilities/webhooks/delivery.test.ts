import assert from 'node:assert/strict';
import { suite, test } from 'node:test';
import { WebhookJob } from '../../../src/capabilities/webhooks/jobs/webhook-job.ts';
import { replayMessages } from '../../../src/capabilities/webhooks/old-messages.ts';
import { deliveries } from '../../../src/capabilities/webhooks/store/outbox.ts';
import { dayMs } from '../../../src/core/durations.ts';
import { enginesAboveContract } from '../../core/store/engines.ts';
import { eventually } from '../../eventually.ts';
import { collectWork } from '../../support.ts';
import { Site, secondMs } from './evaluated.ts';
import { Receiver } from './receiver.ts';

/** Runs the job as a server does. */
async function run(site: Site, holder = 'one') {
	const { directory, scorer } = await site.evaluator(holder);
	const stopping = new AbortController();
	const counted: string[] = [];
	const { log, lines } = collectWork();
	const job = new WebhookJob({
		store: site.store,
		directory,
		scorer,
		holder,
		signal: stopping.signal,
		random: () => 0,
		log,
		count: (what) => counted.push(what),
	});
	const ended = job.run();
	const stop = async () => {
		stopping.abort();
		await ended;
	};
	site.closing.defer(stop);
	/** Lets it look for what is due now. */
	const look = async () => {
		await site.store.control.announceWebhooks();
		await directory.refresh();
		job.wake(site.accountId);
	};
	const isToldDisabled = () =>
		counted.includes('disabled') && lines.some(([text]) => text === 'webhook disabled');
	return { job, counted, isToldDisabled, stop, look };
}

for (const engine of enginesAboveContract)
	suite(`deliveries on ${engine.name}`, () => {
		test('a hit is delivered once, signed according to Standard Webhooks', async (t) => {
			const site = await Site.open(t, engine);
			const receiver = await Receiver.start(site);
			const id = await site.webhook(['segment.entered'], { url: receiver.url });
			receiver.secret = (await site.store.control.webhook(site.accountId, id)).secret;
			const { job } = await run(site);
			site.useRealTime();
			await eventually('the summary', () => receiver.types.includes('segments.recomputed'), 5000);
			const { vid } = await site.hit();
			job.wake(site.accountId);
			await eventually('the message', () => receiver.types.includes('segment.entered'), 5000);
			assert.deepEqual(receiver.problems, []);
			const last = receiver.received.at(-1);
			assert.equal(last?.message.data.vid, vid);
			assert.match(last?.id ?? '', /^msg_[0-9a-f]{24}_\d+$/);
			await eventually('it is stored', async () => {
				const done = await site.store.read(
					site.accountId,
					deliveries({ webhook: id, failed: false, limit: 10 }),
				);
				return (
					done.length === 2 && done.every(({ state, status }) => state === 'delivered' && status === 204)
				);
			});
		});

		test('with another URL, messages go there, with the same secret', async (t) => {
			const site = await Site.open(t, engine);
			const receiver = await Receiver.start(site);
			// Nobody answers TLS there.
			const id = await site.webhook(['segment.entered'], { url: receiver.url.replace('http:', 'https:') });
			const { control } = site.store;
			const { secret, ...known } = await control.webhook(site.accountId, id);
			receiver.secret = secret;
			const { job, counted, look } = await run(site);
			site.useRealTime();
			await eventually('a failure', () => counted.includes('failed'), 5000);
			await control.setWebhookFailing(id, Date.now());
			const updated = await control.updateWebhook(site.accountId, id, { ...known, url: receiver.url });
			assert.equal(updated.failingSince, null);
			await look();
			const { vid } = await site.hit();
			job.wake(site.accountId);
			await eventually('the message', () => receiver.types.includes('segment.entered'), 5000);
			assert.equal(receiver.received.find(({ message }) => 'vid' in message.data)?.message.data.vid, vid);
			assert.deepEqual(receiver.problems, []);
		});

		test('during a rotation of the secret both sign, for a day', async (t) => {
			const site = await Site.open(t, engine);
			const receiver = await Receiver.start(site);
			const id = await site.webhook(['segment.entered'], { url: receiver.url });
			const { control } = site.store;
			receiver.secret = (await control.webhook(site.accountId, id)).secret;
			site.useRealTime();
			const rotated = await control.rotateWebhookSecret(site.accountId, id);
			assert.notEqual(rotated.secret, receiver.secret);
			const { stop } = await run(site);
			await eventually('the summary', () => receiver.received.length === 1, 5000);
			assert.deepEqual(receiver.problems, [], 'the previous one verifies');
			assert.equal(receiver.received[0]?.signatures, 2);
			await stop();
		});

		test('a failed message is repeated with the same id, and does not delay others', async (t) => {
			const site = await Site.open(t, engine);
			const receiver = await Receiver.start(site);
			const stuck = await Receiver.start(site);
			stuck.answer = () => () => {};
			receiver.answer = (index) => (index === 0 ? 500 : 204);
			await site.webhook(['segment.entered'], { url: stuck.url });
			const id = await site.webhook(['segment.entered'], { url: receiver.url });
			const { look } = await run(site);
			await eventually('the first attempt', () => receiver.received.length === 1, 5000);
			await eventually('it is to be sent again in 5 s', async () => {
				const [one] = await site.store.read(
					site.accountId,
					deliveries({ webhook: id, failed: true, limit: 10 }),
				);
				return (
					one?.state === 'waiting' &&
					one.status === 500 &&
					Date.parse(one.nextAttemptAt ?? '') === site.nowMs + 5 * secondMs
				);
			});
			site.passes(5 * secondMs);
			await look();
			await eventually('the second attempt', () => receiver.received.length === 2, 5000);
			assert.equal(receiver.received[0]?.id, receiver.received[1]?.id);
		});

		test('Retry-After is honoured; 410 disables at once', async (t) => {
			const site = await Site.open(t, engine);
			const receiver = await Receiver.start(site);
			receiver.answer = (index) =>
				index > 0 ? 410 : (response) => response.writeHead(429, { 'retry-after': '120' }).end();
			const id = await site.webhook(['segment.entered'], { url: receiver.url });
			const { isToldDisabled, look } = await run(site);
			const next = async () =>
				(await site.store.read(site.accountId, deliveries({ webhook: id, failed: true, limit: 1 })))[0]
					?.nextAttemptAt;
			await eventually(
				'the pause',
				async () => Date.parse((await next()) ?? '') === site.nowMs + 120 * secondMs,
				5000,
			);
			site.passes(120 * secondMs);
			await look();
			const { control } = site.store;
			await eventually(
				'it is disabled',
				async () => {
					const [webhook] = await control.webhooks(site.accountId);
					return webhook?.disabledWhy === 'gone';
				},
				5000,
			);
			await eventually('it is told', isToldDisabled);
		});

		test('a webhook that fails for three days is disabled', async (t) => {
			const site = await Site.open(t, engine);
			const receiver = await Receiver.start(site);
			receiver.answer = () => 500;
			const id = await site.webhook(['segment.entered'], { url: receiver.url });
			const { isToldDisabled, look } = await run(site);
			const { control } = site.store;
			const webhook = async () => (await control.webhooks(site.accountId))[0];
			// The first message; a long break brings another summary.
			const attempts = async () =>
				(await site.store.read(site.accountId, deliveries({ webhook: id, failed: true, limit: 9 }))).at(-1);
			for (let attempt = 1; attempt <= 11; attempt++) {
				await eventually(
					`attempt ${attempt}`,
					async () => {
						const one = await attempts();
						// Another message may be the one that was too much.
						if ((await webhook())?.disabledWhy === 'failing') return true;
						return one?.attempts === attempt && one.attemptedAt === new Date(site.nowMs).toISOString();
					},
					5000,
				);
				const dueAt = (await attempts())?.nextAttemptAt;
				if (typeof dueAt !== 'string' || (await webhook())?.disabledWhy === 'failing') break;
				site.passes(Date.parse(dueAt) - site.nowMs);
				await look();
			}
			await eventually('it is disabled', async () => (await webhook())?.disabledWhy === 'failing', 5000);
			const { createdAt, failingSince } = (await webhook()) ?? {};
			assert.equal(failingSince, createdAt);
			assert.ok(site.nowMs - Date.parse(createdAt ?? '') < 4 * dayMs);
			await eventually('it is told', isToldDisabled);
		});

		test('messages are replayed since a time, with the same ids', async (t) => {
			const site = await Site.open(t, engine);
			const receiver = await Receiver.start(site);
			const id = await site.webhook(['segment.entered'], { url: receiver.url });
			const { look } = await run(site);
			await eventually('the summary', () => receiver.received.length === 1, 5000);
			await eventually('it is stored', async () => {
				const [one] = await site.store.read(
					site.accountId,
					deliveries({ webhook: id, failed: false, limit: 1 }),
				);
				return one?.state === 'delivered';
			});
			site.passes(secondMs);
			const account = { id: site.accountId, aid: 'c-a-site' };
			const replay = async (sinceMs: number) => {
				const messages = await replayMessages(site.store, account, id, sinceMs);
				await site.store.control.announceWebhooks();
				return messages;
			};
			assert.equal(await replay(site.nowMs), 0);
			assert.equal(await replay(site.nowMs - secondMs), 1);
			await look();
			await eventually('it is sent again', () => receiver.received.length === 2, 5000);
			assert.equal(receiver.received[0]?.id, receiver.received[1]?.id);
		});

		test('several processes share deliveries, and none is sent twice', async (t) => {
			const site = await Site.open(t, engine);
			const receiver = await Receiver.start(site);
			if (!site.store.takesManyServers) return t.skip('one process serves');
			await site.webhook(['segment.entered'], { url: receiver.url });
			const jobs = [await run(site), await run(site, 'other')];
			site.useRealTime();
			await eventually('the summary', () => receiver.received.length === 1, 5000);
			await Promise.all(Array.from({ length: 60 }, () => site.hit()));
			for (const { job } of jobs) job.wake(site.accountId);
			await eventually('all', () => receiver.received.length >= 61, 5000);
			assert.equal(new Set(receiver.received.map(({ id }) => id)).size, 61);
			assert.equal(receiver.received.length, 61);
		});
	});
