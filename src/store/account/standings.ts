import type { Kysely } from 'kysely';
import type { Profile } from '../../domain/profile.ts';
import type { Standing } from '../../domain/standing.ts';
import type { ClientTables, HitTables } from './tables.ts';

/** A visitor, and what webhooks know about it. */
export interface EvaluatedVisitor {
	readonly vid: string;
	/** Null if the visitor is gone. */
	readonly profile: Profile | null;
	/** Null if it was never evaluated. */
	readonly standing: Standing | null;
}

type Database = Kysely<ClientTables>;

/** Visitors with entries in a period, and the time of the last of these entries. */
export async function changedSince(
	database: Database,
	afterMs: number,
	untilMs: number,
	{ all }: HitTables,
): Promise<Map<string, number>> {
	const changed = new Map<string, number>();
	const add = (rows: readonly { vid: string | null; at: number }[]) => {
		for (const { vid, at } of rows)
			if (vid !== null) changed.set(vid, Math.max(at, changed.get(vid) ?? Number.NEGATIVE_INFINITY));
	};
	for (const table of all)
		add(
			await database
				.selectFrom(table)
				.select(({ fn }) => ['vid', fn.max<number>('at').as('at')])
				.where('at', '>', afterMs)
				.where('at', '<=', untilMs)
				.groupBy('vid')
				.execute(),
		);
	add(
		await database
			.selectFrom('subscription_event')
			.select(({ fn }) => ['vid', fn.max<number>('received_at').as('at')])
			.where('received_at', '>', afterMs)
			.where('received_at', '<=', untilMs)
			.where('vid', 'is not', null)
			.groupBy('vid')
			.execute(),
	);
	return changed;
}

export async function evaluatedVisitors(
	database: Database,
	vids: readonly string[],
): Promise<EvaluatedVisitor[]> {
	if (vids.length === 0) return [];
	const rows = await database
		.selectFrom('visitor')
		.select(['vid', 'profile'])
		.where('vid', 'in', vids)
		.execute();
	const profiles = new Map(rows.map(({ vid, profile }) => [vid, profile]));
	return withStandings(
		database,
		vids.map((vid) => ({ vid, profile: profiles.get(vid) ?? 'null' })),
	);
}

export async function evaluatedPage(
	database: Database,
	afterId: number,
	limit: number,
): Promise<{ visitors: EvaluatedVisitor[]; lastId: number | undefined }> {
	const rows = await database
		.selectFrom('visitor')
		.select(['id', 'vid', 'profile'])
		.where('id', '>', afterId)
		.orderBy('id')
		.limit(limit)
		.execute();
	return { visitors: await withStandings(database, rows), lastId: rows.at(-1)?.id };
}

export async function evaluatedWithoutVisitor(
	database: Database,
	limit: number,
): Promise<EvaluatedVisitor[]> {
	const rows = await database
		.selectFrom('standing')
		.leftJoin('visitor', 'visitor.vid', 'standing.vid')
		.select('standing.vid')
		.where('visitor.vid', 'is', null)
		.limit(limit)
		.execute();
	return withStandings(
		database,
		rows.map(({ vid }) => ({ vid, profile: 'null' })),
	);
}

async function withStandings(
	database: Database,
	visitors: readonly { readonly vid: string; readonly profile: string }[],
): Promise<EvaluatedVisitor[]> {
	if (visitors.length === 0) return [];
	const vids = visitors.map(({ vid }) => vid);
	const standings = await database
		.selectFrom('standing')
		.select(['vid', 'body'])
		.where('vid', 'in', vids)
		.execute();
	const bodies = new Map(standings.map(({ vid, body }) => [vid, body]));
	const memberships = Map.groupBy(
		await database.selectFrom('membership').select(['vid', 'segment']).where('vid', 'in', vids).execute(),
		({ vid }) => vid,
	);
	return visitors.map(({ vid, profile }) => {
		const body = bodies.get(vid);
		return {
			vid,
			profile: JSON.parse(profile),
			standing:
				body === undefined
					? null
					: {
							...toStanding(body),
							segments: new Set((memberships.get(vid) ?? []).map(({ segment }) => segment)),
						},
		};
	});
}

function toStanding(body: string): Pick<Standing, 'bands' | 'goals'> {
	const { bands, goals } = JSON.parse(body);
	return { bands: new Map(bands), goals: new Map(goals) };
}

export async function customerIdsOf(
	database: Database,
	vids: readonly string[],
): Promise<Map<string, string>> {
	if (vids.length === 0) return new Map();
	const rows = await database
		.selectFrom('claim')
		.select(['vid', 'key', 'at'])
		.where('vid', 'in', vids)
		.where('key', '>=', 'c:')
		.where('key', '<', 'd')
		.orderBy('at')
		.execute();
	return new Map(rows.map(({ vid, key }) => [vid, key.slice(2)]));
}
