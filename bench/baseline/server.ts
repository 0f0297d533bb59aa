/**
 * A baseline: `POST /subscription` as a good developer would write it in an afternoon, with Express, pg,
 * express-rate-limit and validation by hand. Nothing in it is slow on purpose: keys are in memory, and each request is one
 * transaction with one prepared INSERT for all rows. It has no quotas, deadlines or conflict log, and its rate limit counts
 * within one process. Reads `DATABASE_URL`, a database with the tables of `schema.sql`. Prints its URL.
 */
import { createHash } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import express, { type NextFunction, type Request, type Response } from 'express';
import { rateLimit } from 'express-rate-limit';
import pg from 'pg';

interface SubscriptionEvent {
	tid: string;
	subid: string;
	cid: string | null;
	evt: string;
	rvn: number;
}

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL as string, max: 10 });

/** From the hash of a key to the accounts of its client, as `aid` to id. */
const accountsByKey = new Map<string, Map<string, number>>();

async function loadKeys(): Promise<void> {
	const { rows } = await pool.query(
		'SELECT hash, aid, account.id FROM api_key JOIN account USING (client_id)',
	);
	accountsByKey.clear();
	for (const { hash, aid, id } of rows) {
		const accounts = accountsByKey.get(hash) ?? new Map<string, number>();
		accountsByKey.set(hash, accounts.set(aid, Number(id)));
	}
}

function authenticate(request: Request, response: Response, next: NextFunction): void {
	const hash = createHash('sha256')
		.update(request.get('x-api-key') ?? '')
		.digest('hex');
	const accounts = accountsByKey.get(hash);
	if (!accounts) {
		response.status(403).json({ message: 'Forbidden', validationErrors: null });
		return;
	}
	response.locals.key = hash;
	response.locals.accounts = accounts;
	next();
}

const limit = rateLimit({
	windowMs: 1000,
	// So high that it never refuses: the benchmark measures accepted requests.
	limit: 1_000_000,
	keyGenerator: (_request, response) => response.locals.key,
	handler: (_request, response) => {
		response.status(429).json({ message: 'Rate limit exceeded.', validationErrors: null });
	},
});

const isText = (value: unknown) => typeof value === 'string' && value !== '' && value.length <= 255;
const isEmpty = (value: unknown) => value === undefined || value === null || value === '';

function problemsOf(body: Record<string, unknown>): string[] {
	const { data, simulate = false } = body ?? {};
	if (!Array.isArray(data) || data.length === 0) return ['data must be an array of at least one event'];
	if (data.length > 30) return ['data has more than 30 events'];
	const problems = typeof simulate === 'boolean' ? [] : ['simulate must be a boolean'];
	data.forEach((event, index) => {
		for (const field of ['tid', 'subid', 'evt'])
			if (!isText(event?.[field])) problems.push(`data[${index}].${field} is required`);
		if (!isEmpty(event?.cid) && !isText(event.cid)) problems.push(`data[${index}].cid must be a string`);
		if (!isEmpty(event?.rvn) && !Number.isSafeInteger(event.rvn))
			problems.push(`data[${index}].rvn must be an integer`);
	});
	return problems;
}

async function store(accountId: number, events: SubscriptionEvent[], simulate: boolean): Promise<number> {
	const client = await pool.connect();
	try {
		await client.query('BEGIN');
		const { rowCount } = await client.query({
			name: 'insert events',
			text: `INSERT INTO subscription_event (account_id, tid, subid, cid, evt, rvn)
				SELECT $1, * FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
				ON CONFLICT DO NOTHING`,
			values: [
				accountId,
				events.map(({ tid }) => tid),
				events.map(({ subid }) => subid),
				events.map(({ cid }) => cid || null),
				events.map(({ evt }) => evt),
				events.map(({ rvn }) => rvn || 0),
			],
		});
		await client.query(simulate ? 'ROLLBACK' : 'COMMIT');
		return rowCount ?? 0;
	} catch (error) {
		await client.query('ROLLBACK');
		throw error;
	} finally {
		client.release();
	}
}

const app = express();
app.disable('x-powered-by');

app.post(
	'/subscription',
	authenticate,
	limit,
	express.json({ limit: '256kb' }),
	async (request, response) => {
		const { aid, data, simulate = false } = request.body ?? {};
		const accountId = response.locals.accounts.get(aid);
		if (accountId === undefined) {
			response.status(400).json({ message: `No account ${aid}.`, validationErrors: 'Invalid account' });
			return;
		}
		const problems = problemsOf(request.body);
		if (problems.length > 0) {
			response
				.status(400)
				.json({ message: 'Error inserting subscription.', validationErrors: problems.join('; ') });
			return;
		}
		const stored = await store(accountId, data, simulate);
		response
			.status(simulate ? 200 : 201)
			.set({ 'x-events-stored': String(stored), 'x-events-duplicate': String(data.length - stored) })
			.json({
				message: `Subscription ${simulate ? 'simulated' : 'created'} successfully.`,
				validationErrors: null,
			});
	},
);

app.use((error: Error & { status?: number }, _request: Request, response: Response, _next: NextFunction) => {
	const message = error.status === 400 ? 'Malformed JSON.' : 'Internal server error.';
	response.status(error.status ?? 500).json({ message, validationErrors: error.message });
});

await loadKeys();
setInterval(() => loadKeys().catch(() => {}), 10_000).unref();
const server = app.listen(0, '127.0.0.1', () => {
	const { port } = server.address() as AddressInfo;
	process.stdout.write(`http://127.0.0.1:${port}\n`);
});
