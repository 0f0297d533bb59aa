/**
 * What an act takes besides a session of who may do it: nothing; a proof of who one is, by having just signed in or by what
 * `proof.ts` asks for; or a code of the second factor, however lately one has signed in.
 */
export type Demand = 'session' | 'proof' | 'code';

/**
 * Everything that the console does, by the page's path and the form's action; `get` is to look at the page. A proof takes
 * what hands out access (keys, people, roles, links, passwords, second factors, origins), what hands out data of persons
 * (exports, files with rows of persons, where a webhook sends them), and what cannot be undone. The audit log knows who has
 * looked at a person on a page, and that page shows only the latest rows.
 */
const demands: Readonly<Record<string, Readonly<Record<string, Demand>>>> = {
	':aid/': { get: 'session' },
	':aid/attribution': { get: 'session' },
	':aid/campaigns': { get: 'session' },
	':aid/journeys': { get: 'session' },
	':aid/revenue': { get: 'session' },
	':aid/retention': { get: 'session' },
	':aid/scores': { get: 'session' },
	':aid/scores/models': { train: 'session', use: 'session' },
	':aid/segments': { get: 'session', 'save segment': 'session', 'delete segment': 'proof' },
	':aid/experiments': { get: 'session', create: 'session', stop: 'session' },
	':aid/subscriptions': { get: 'session' },
	':aid/subscriptions/:file': { get: 'proof', download: 'proof' },
	':aid/visitors': { get: 'session' },
	':aid/visitors/:vid': { get: 'session', export: 'proof' },
	':aid/visitors/:vid/erase': { get: 'session', erase: 'proof' },
	':aid/visitors/:vid/:file': { get: 'proof', download: 'proof' },
	':aid/customers/:cid': { get: 'session', export: 'proof' },
	':aid/customers/:cid/erase': { get: 'session', erase: 'proof' },
	':aid/events/:tid': { get: 'session' },
	':aid/events/:tid/:file': { get: 'proof', download: 'proof' },
	':aid/tag': { get: 'session' },
	':aid/uploads': { get: 'session' },
	// Counts of requests.
	':aid/uploads/:file': { get: 'session' },
	':aid/webhooks': {
		get: 'session',
		create: 'proof',
		update: 'proof',
		rotate: 'proof',
		replay: 'proof',
		delete: 'proof',
		// To the address that it has, without data of a person.
		test: 'session',
		disable: 'session',
		enable: 'session',
	},
	':aid/settings': {
		get: 'session',
		account: 'proof',
		'create goal': 'session',
		'update goal': 'session',
		'delete goal': 'proof',
		'issue key': 'proof',
		'revoke key': 'proof',
	},
	':aid/notes': { get: 'session', 'add note': 'session', 'remove note': 'session' },
	':aid/views': { get: 'session', 'save view': 'session', 'remove view': 'session' },
	// Figures about many visitors.
	':aid/reports/:file': { get: 'session' },
	accounts: {
		get: 'session',
		create: 'proof',
		disable: 'proof',
		enable: 'proof',
		delete: 'proof',
		'disable client': 'proof',
		'enable client': 'proof',
		'delete client': 'proof',
	},
	system: { get: 'session', doctor: 'session' },
	people: { get: 'session', create: 'proof' },
	'people/:email': {
		get: 'session',
		grant: 'proof',
		revoke: 'proof',
		link: 'proof',
		'remove second factor': 'proof',
		'disconnect single sign-on': 'proof',
		remove: 'proof',
		// Takes access away, in a hurry perhaps; to sign in again gives it back.
		'end session': 'session',
		'end sessions': 'session',
	},
	audit: { get: 'session' },
	account: {
		get: 'session',
		password: 'proof',
		offer: 'proof',
		// Takes a code of the secret, which was shown once, to who had given a proof.
		prove: 'session',
		'remove offer': 'session',
		codes: 'code',
		'remove second factor': 'code',
		'connect single sign-on': 'proof',
		'disconnect single sign-on': 'proof',
		'end session': 'session',
		'end others': 'session',
	},
};

/** What an act of a page takes. One that is not in the list takes a proof. */
export function demandOf({ path }: { readonly path: string }, act: string): Demand {
	const ofPage = Object.hasOwn(demands, path) ? demands[path] : undefined;
	return ofPage && Object.hasOwn(ofPage, act) ? (ofPage[act] as Demand) : 'proof';
}

/** Every act that the list names, as its page and its name. */
export function listedActs(): (readonly [path: string, act: string])[] {
	return Object.entries(demands).flatMap(([path, acts]) =>
		Object.keys(acts).map((act) => [path, act] as const),
	);
}
