import { keyPropagationMs } from '../../../core/domain/signing-key.ts';
import { actOfAll } from '../../../kit/act.ts';

export const rotateSigningKey = actOfAll({
	noun: 'cask',
	verb: 'rotate',
	done: 'signing key of casks rotated',
	summary: 'sign with a new key from now on',
	description: `Sign casks with a new key from now on. Casks signed with earlier keys stay valid until they expire, so pages
notice nothing. To revoke a visitor's casks at once, erase the visitor. To revoke an account's, disable it.`,
	right: 'administer',
	isOfAll: true,
	noForm: 'it is for who thinks that a copy of the database is in wrong hands',
	takes: {},
	about: ({ kid }) => kid,
	async run(control) {
		const { kid, createdAtMs } = await control.rotateSigningKeys();
		return { kid, signsFrom: new Date(createdAtMs + keyPropagationMs).toISOString() };
	},
	line: (_, { kid, signsFrom }) =>
		`Key ${kid} signs from ${signsFrom}. Earlier casks stay valid until they expire.`,
});
