import type { Capability } from '../../core/capability.ts';
import type { KnownSession, Person } from '../../kit/person.ts';
import { auditStore } from './store/audit.ts';
import { namedViewStore } from './store/named-views.ts';
import { peopleStore, selectPeople } from './store/people.ts';
import { selectSessions, sessionStore } from './store/sessions.ts';

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
		tables: [
			{ name: 'user', isCopied: true },
			{ name: 'grant', isCopied: true, account: 'account_id' },
			{ name: 'recovery_code', isCopied: true },
			{ name: 'audit', isCopied: true, account: 'aid', forgets: 'about' },
			{ name: 'named_view', isCopied: true, account: 'account_id' },
		],
	},
	*ofServer(nowMs) {
		return {
			people: new Map((yield* selectPeople()).map((person) => [person.id, person])),
			sessions: yield* selectSessions(nowMs),
		};
	},
};
