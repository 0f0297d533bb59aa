import type { Query, Row, Steps } from './steps.ts';

/**
 * A visitor's claim to a `tid` (key `t:…`) or a `cid` (`c:…`) that a hit of theirs has shown. A key is held by whoever
 * showed it first: the earliest claim, and of several at the same moment the one of the smallest `vid`. A subscription
 * event belongs to the holder of its `tid`, else to the holder of its `cid`, whichever of hit and upload came first.
 */
export interface Claim {
	readonly key: string;
	readonly atMs: number;
	readonly vid: string;
}

interface Shown {
	readonly events: readonly { readonly tid?: string }[];
	readonly cid: string | null;
}

/** The claims that a hit makes. */
export function claimsOf(vid: string, atMs: number, { events, cid }: Shown): Claim[] {
	const keys = events.flatMap(({ tid }) => (tid === undefined ? [] : [`t:${tid}`]));
	if (cid !== null) keys.push(`c:${cid}`);
	return keys.map((key) => ({ key, atMs, vid }));
}

interface Joinable {
	readonly tid: string;
	readonly cid: string | null;
}

/** Who holds the keys of events, where somebody does. */
export function holdersOf(events: readonly Joinable[]): Query {
	const keys = events.flatMap(({ tid, cid }) => (cid === null ? [`t:${tid}`] : [`t:${tid}`, `c:${cid}`]));
	return {
		sql: 'SELECT key, (SELECT vid FROM @claim AS claim WHERE claim.key = list.key ORDER BY at, vid LIMIT 1) AS vid FROM ?each AS list /* holders */',
		values: [keys],
	};
}

/** The `vid` of each event that belongs to a visitor, by `tid`. */
export function ownersOf(events: readonly Joinable[], holders: readonly Row[]): Map<string, string> {
	const holderOf = new Map(holders.map(({ key, vid }) => [key, vid]));
	const owners = new Map<string, string>();
	for (const { tid, cid } of events) {
		const vid = holderOf.get(`t:${tid}`) ?? holderOf.get(`c:${cid}`);
		if (typeof vid === 'string') owners.set(tid, vid);
	}
	return owners;
}

/** Writes down to whom events belong. Both engines name the columns of `VALUES` so. */
export function setOwners(owners: readonly (readonly [tid: string, vid: string | null])[]): Query {
	return {
		sql: 'UPDATE @subscription_event SET vid = owner.column2 FROM (?rows) AS owner WHERE tid = owner.column1 /* join */',
		rows: owners,
	};
}

/** Makes claims that are new, or earlier than known. @returns visitors who have got or lost subscription events */
export function* makeClaims(claims: readonly Claim[]): Steps<Set<string>> {
	const earliest = earliestClaims(claims);
	const [rows = []] = yield [
		{
			sql: 'SELECT vid, key, at FROM @claim WHERE vid IN ?list AND key IN ?list /* known claims */',
			values: [[...new Set(claims.map(({ vid }) => vid))], [...new Set(claims.map(({ key }) => key))]],
		},
	];
	const known = new Map(rows.map(({ vid, key, at }) => [`${vid} ${key}`, Number(at)]));
	const fresh = earliest.filter(({ vid, key, atMs }) => !((known.get(`${vid} ${key}`) ?? Infinity) <= atMs));
	if (fresh.length === 0) return new Set();
	yield [{ lock: 'exclusive' }];
	yield [saveClaims(fresh)];
	return yield* assignEventsOf(fresh.map(({ key }) => key));
}

function earliestClaims(claims: readonly Claim[]): Claim[] {
	const earliest = new Map<string, Claim>();
	for (const claim of claims) {
		const name = `${claim.vid} ${claim.key}`;
		if (claim.atMs < (earliest.get(name)?.atMs ?? Infinity)) earliest.set(name, claim);
	}
	return [...earliest.values()];
}

function saveClaims(claims: readonly Claim[]): Query {
	return {
		sql: 'INSERT INTO @claim (key, at, vid) ?rows ON CONFLICT (vid, key) DO UPDATE SET at = excluded.at WHERE excluded.at < claim.at /* save claims */',
		rows: claims.map(({ key, atMs, vid }) => [key, atMs, vid]),
	};
}

/** Gives visitors these claims in place of all they have. @returns visitors who have got or lost subscription events */
export function* replaceClaims(vids: readonly string[], claims: readonly Claim[]): Steps<Set<string>> {
	yield [{ lock: 'exclusive' }];
	const [deleted = []] = yield [
		{ sql: 'DELETE FROM @claim WHERE vid IN ?list RETURNING key /* replace claims */', values: [vids] },
	];
	yield [saveClaims(earliestClaims(claims))];
	const keys = new Set([...deleted.map(({ key }) => String(key)), ...claims.map(({ key }) => key)]);
	const [events = []] = yield [
		{
			sql: 'SELECT tid, cid, vid FROM @subscription_event WHERE vid IN ?list /* replace claims */',
			values: [vids],
		},
	];
	return yield* assignEventsOf([...keys], events);
}

function* assignEventsOf(keys: readonly string[], others: readonly Row[] = []): Steps<Set<string>> {
	const named = (kind: string) =>
		keys.filter((key) => key.startsWith(kind)).map((key) => key.slice(kind.length));
	const [byTid = [], byCid = []] = yield [
		{
			sql: 'SELECT tid, cid, vid FROM @subscription_event WHERE tid IN ?list /* events of claims */',
			values: [named('t:')],
		},
		{
			sql: 'SELECT tid, cid, vid FROM @subscription_event WHERE cid IN ?list /* events of claims */',
			values: [named('c:')],
		},
	];
	return yield* assignEvents([...byTid, ...byCid, ...others]);
}

/**
 * Gives subscription events to whom they belong.
 * @param rows `tid`, `cid`, `vid`
 * @returns visitors who have got or lost some
 */
export function* assignEvents(rows: readonly Row[]): Steps<Set<string>> {
	const events = [
		...new Map(rows.map((row) => [row.tid, row as unknown as Joinable & { vid: string | null }])).values(),
	];
	const [holders = []] = yield [holdersOf(events)];
	const owners = ownersOf(events, holders);
	const moved = events.filter(({ tid, vid }) => (owners.get(tid) ?? null) !== vid);
	if (moved.length > 0) yield [setOwners(moved.map(({ tid }) => [tid, owners.get(tid) ?? null]))];
	return new Set(
		moved.flatMap(({ tid, vid }) => [owners.get(tid), vid].filter((name) => typeof name === 'string')),
	);
}
