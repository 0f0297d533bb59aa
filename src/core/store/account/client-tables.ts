import { allEventColumns } from '../../domain/subscription-event.ts';

interface TableDescription {
	readonly columns: readonly string[];
	/** Unique, indexed, and sorted alike by every engine. An `id` is a number that the engine assigns. */
	readonly key: readonly string[];
}

/** All tables of an account, for copying from one engine to another; see `migrations/<engine>/client/`. */
export const clientTables = {
	subscription_event: {
		columns: ['id', ...allEventColumns, 'named', 'vid'],
		key: ['id'],
	},
	hit: { columns: ['id', 'vid', 'sid', 'at', 'body'], key: ['id'] },
	claim: { columns: ['vid', 'key', 'at', 'unproven_until', 'unfounded', 'kept'], key: ['vid', 'key'] },
	touch: { columns: ['vid', 'at', 'origin', 'kept'], key: ['vid', 'at'] },
	kept_day: { columns: ['day', 'since', 'figures'], key: ['day'] },
	spend: { columns: ['day', 'channel', 'campaign', 'pence'], key: ['day', 'channel', 'campaign'] },
	visit: { columns: ['id', 'sid', 'vid', 'profile', 'folded_to', 'refolded', 'began'], key: ['id'] },
	visitor: { columns: ['id', 'vid', 'profile', 'folded_to', 'refolded', 'hidden'], key: ['id'] },
	task: { columns: ['id', 'name', 'position'], key: ['id'] },
	membership: { columns: ['vid', 'segment', 'since', 'sequence'], key: ['vid', 'segment'] },
	standing: { columns: ['vid', 'body'], key: ['vid'] },
	evaluation: { columns: ['name', 'holder', 'held_until', 'sequence', 'state'], key: ['name'] },
	outbox: {
		columns: [
			'webhook',
			'sequence',
			'type',
			'vid',
			'body',
			'created_at',
			'due_at',
			'attempts',
			'attempted_at',
			'delivered_at',
			'status',
			'problem',
		],
		key: ['webhook', 'sequence'],
	},
	conflict: { columns: ['id', 'at', 'request_id', 'tids'], key: ['id'] },
	served_score: { columns: ['vid', 'goal', 'at', 'band', 'score'], key: ['vid', 'goal', 'at'] },
	shared_key: { columns: ['key'], key: ['key'] },
	erased: { columns: ['mark', 'successor', 'at'], key: ['mark'] },
	kept_figure: { columns: ['name', 'at', 'body'], key: ['name'] },
} as const satisfies Readonly<Record<string, TableDescription>>;

export type ClientTable = keyof typeof clientTables;

export const clientTableNames = Object.keys(clientTables) as ClientTable[];

/** Those whose `id` the engine assigns. */
export const numberedTables = clientTableNames.filter((table) => clientTables[table].key[0] === 'id');
