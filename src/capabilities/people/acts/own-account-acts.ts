import type { ControlStore } from '../../../core/store/control/control-store.ts';
import { type ActPlace, actOfAll, type Demand } from '../../../kit/act.ts';
import { hashPassword } from '../access/passwords.ts';
import { hashRecoveryCode, newRecoveryCodes, newTotpSecret, otpauthLink } from '../access/second-factor.ts';
import type { StoredPerson } from '../store/people-store.ts';

const own = {
	noun: 'own account',
	right: null,
	isOfAll: true,
	noCommand: 'it is of whoever has signed in to the console',
} as const;

const asker = (control: ControlStore, { who = '' }: ActPlace<undefined>) => control.people.find(who);

export const setPassword = actOfAll({
	...own,
	verb: 'set-password',
	done: 'password set',
	summary: 'set one’s password, which signs one out everywhere else',
	takes: {
		password: { flag: '--password <password>', text: 'the new password' },
		session: { flag: '--session <hash>', text: 'the session that stays' },
	},
	prepare: (_, { password }) => hashPassword(password),
	async run(control, place, { session }, password) {
		const { id, email } = await asker(control, place);
		await control.people.setPassword(id, password);
		await control.sessions.end(email, { except: session });
		return { email };
	},
});

/** Declares an act that takes nothing but the person. */
function ofOneself<Result>(
	[verb, done]: readonly [verb: string, done: string],
	summary: string,
	run: (control: ControlStore, person: StoredPerson) => Promise<Result>,
	demand: Demand = 'proof',
) {
	return actOfAll({
		...own,
		verb,
		done,
		demand,
		summary,
		takes: {},
		run: async (control, place) => run(control, await asker(control, place)),
	});
}

export const offerSecondFactor = ofOneself(
	['offer-second-factor', 'second factor offered'],
	'make a key for an app, which counts once a code has proved it',
	async (control, { id, email }) => {
		const secret = newTotpSecret();
		await control.people.offerSecondFactor(id, secret);
		return { secret, link: otpauthLink(email, secret) };
	},
);

/** They take the place of earlier ones. */
async function makeRecoveryCodes(
	control: ControlStore,
	{ id }: StoredPerson,
): Promise<{ codes: readonly string[] }> {
	const codes = newRecoveryCodes();
	await control.people.setRecoveryCodes(id, codes.map(hashRecoveryCode));
	return { codes };
}

/** Once a code has proved the key. */
export const setSecondFactor = ofOneself(
	['set-second-factor', 'second factor set'],
	'sign in with the app from now on',
	makeRecoveryCodes,
	// It takes a code of the key, which was shown once, to who had given a proof.
	'session',
);

export const renewRecoveryCodes = ofOneself(
	['make-recovery-codes', 'recovery codes made'],
	'make new recovery codes',
	makeRecoveryCodes,
	'code',
);

export const removeOwnSecondFactor = ofOneself(
	['remove-second-factor', 'second factor removed'],
	'sign in without a second factor from now on',
	(control, { id }) => control.people.removeSecondFactor(id),
	'code',
);

export const withdrawSecondFactor = ofOneself(
	['withdraw-second-factor', 'second factor not set up'],
	'forget a key that no code has proved',
	async (control, { id, hasSecondFactor }) => {
		if (!hasSecondFactor) await control.people.removeSecondFactor(id);
	},
	'session',
);

export const disconnectOwnSingleSignOn = ofOneself(
	['disconnect-single-sign-on', 'single sign-on disconnected'],
	'sign in by single sign-on no more',
	(control, { id }) => control.people.removeIdentity(id),
);

export const endOwnSessions = actOfAll({
	...own,
	verb: 'end-sessions',
	demand: 'session',
	done: ({ session }) => (session === undefined ? 'other sessions ended' : 'session ended'),
	summary: 'sign out elsewhere',
	takes: {
		session: { flag: '--session <id>', text: 'this one alone', isOptional: true },
		except: { flag: '--except <hash>', text: 'all but this one', isOptional: true },
	},
	async run(control, place, { session, except }) {
		const { email } = await asker(control, place);
		return { ended: await control.sessions.end(email, { id: session, except }) };
	},
});
