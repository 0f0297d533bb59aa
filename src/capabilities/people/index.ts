import type { Capability } from '../../kit/capability-declaration.ts';
import type { KnownSession, Person } from '../../kit/person.ts';
import { namedViewStore } from './store/named-views.ts';
import { peopleStore, selectPeople } from './store/people-store.ts';
import { selectSessions, sessionStore } from './store/sessions.ts';

declare module '../../core/capability.ts' {
	interface ControlMembers {
		readonly people: ReturnType<typeof peopleStore>;
		readonly sessions: ReturnType<typeof sessionStore>;
		readonly views: ReturnType<typeof namedViewStore>;
	}

	interface SnapshotMembers {
		/** By id. */
		readonly people: ReadonlyMap<string, Person>;
		/** Those that have not ended, by the SHA-256 of their token. */
		readonly sessions: ReadonlyMap<string, KnownSession>;
	}
}

/** People, what proves them, and the views that they have named. */
export const people: Capability = {
	name: 'people',
	nouns: {
		members: (doors) => ({
			people: peopleStore(doors),
			sessions: sessionStore(doors),
			views: namedViewStore(doors),
		}),
		tables: [
			{ name: 'user', isCopied: true },
			{ name: 'grant', isCopied: true, account: 'account_id' },
			{ name: 'recovery_code', isCopied: true },
			{ name: 'named_view', isCopied: true, account: 'account_id' },
		],
	},
	*snapshot(nowMs) {
		return {
			ofServer: {
				people: new Map((yield* selectPeople()).map((person) => [person.id, person])),
				sessions: yield* selectSessions(nowMs),
			},
		};
	},
	commands: {
		note: async () => (await import('./commands/note-command.ts')).noteCommand,
		user: async () => (await import('./commands/user-command.ts')).userCommand,
		audit: async () => (await import('./commands/audit-command.ts')).auditCommand,
	},
	acts: {
		note: { verbs: ['add', 'remove'], isListed: true, load: () => import('./acts/note-acts.ts') },
	},
	async pages() {
		const { notesPage } = await import('./pages/notes-page.ts');
		const { viewsPage } = await import('./pages/views-page.ts');
		const { auditPage, peoplePage, personPage } = await import('./pages/people-page.ts');
		const { ownAccountPage } = await import('./pages/account-page.ts');
		const { createEntrance } = await import('./access/people-entrance.ts');
		const { withoutPassword } = await import('./pages/people-attention.ts');
		return {
			pages: [notesPage, viewsPage, peoplePage, personPage, auditPage, ownAccountPage],
			entrance: createEntrance,
			attention: withoutPassword,
		};
	},
};
