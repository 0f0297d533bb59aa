import { act } from '../../kit/act.ts';
import { listing } from '../../kit/listing.ts';
import { comparedModels, useModel } from './judge/model-versions.ts';

export const modelScopes = ['vid', 'sid', 'lift'] as const;

export const activateModel = act({
	noun: 'model',
	verb: 'use',
	demand: 'session',
	done: 'model used',
	summary: 'activate a version',
	description: `Activate a version, for example to go back to an earlier one. 'prior' activates none, so that the base rate is
served.`,
	right: 'operate',
	takes: {
		goal: { flag: '<goal>', text: 'name of the goal' },
		version: { flag: '<version>', text: 'version of the model, such as 2026-11-21.1, or prior' },
		scope: {
			flag: '--scope <scope>',
			text: 'what it scores: vid for visitors, sid for single visits, lift for how much treatment changes a visitor',
			choices: modelScopes,
			usual: 'vid',
		},
	},
	async run(control, { account }, { goal, version, scope }) {
		await useModel({ control }, account.id, { goal, scope, version });
		return { aid: account.aid, goal, scope, version };
	},
	about: ({ goal, scope, version }) => `${goal} ${scope} ${version}`,
});

export const modelList = listing({
	noun: 'model',
	summary: 'list models, to compare them',
	empty: ({ aid }) => `No models. 'caskade train ${aid}' makes them.`,
	read: (store, { id }) => comparedModels(store, id, undefined),
});
