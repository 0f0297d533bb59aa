import type { Capability } from '../../core/capability.ts';
import { deleteRows, updateRows } from '../../core/store/control/rows.ts';
import type { Person } from '../../kit/person.ts';
import { auditStore } from './store/audit.ts';
import { namedViewStore } from './store/named-views.ts';
import { peopleStore, selectPeople } from './store/people.ts';
import { type KnownSession, selectSessions, sessionStore } from './store/sessions.ts';

declare module '../../core/capability.ts' {
	interface ControlMembers {
		readonly people: ReturnType<typeof peopleStore>;
		readonly sessions: ReturnType<typeof sessionStore>;
		readonly audit: ReturnType<typeof auditStore>;
		readonly views: ReturnType<typeof namedViewStore>;
	}

	interface SnapshotMembers {
		/** By id. */
		readonly people: ReadonlyMap<string, Person>;
		/** Those that have not ended, by the SHA-256 of their token. */
		readonly sessions: ReadonlyMap<string, KnownSession>;
	}
}

/** People, what proves them, what they did, and the views that they have named. */
export const people: Capability = {
	nouns: {
		members: (doors) => ({
			people: peopleStore(doors),
			sessions: sessionStore(doors),
			audit: auditStore(doors),
			views: namedViewStore(doors),
		}),
		copiedTables: ['user', 'grant', 'recovery_code', 'audit', 'named_view'],
		async deleteAccount(transaction, { id, aid }) {
			for (const table of ['grant', 'named_view'] as const)
				await deleteRows(transaction, table, { account_id: id });
			await updateRows(transaction, 'audit', { aid }, { about: null });
		},
	},
	ofServer: async (database, nowMs) => ({
		people: new Map((await selectPeople(database)).map((person) => [person.id, person])),
		sessions: await selectSessions(database, nowMs),
	}),
};
