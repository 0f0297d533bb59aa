import { OperatorError } from '../../../core/errors.ts';
import type { ControlStore } from '../../../core/store/control/control-store.ts';
import { type ActPlace, act, type GivenFields } from '../../../kit/act.ts';
import { displayName } from '../../../kit/format/values.ts';

/** Of an address. */
const maxQueryLength = 2000;

function parsePage(text: string): string {
	if (/^[a-z]{0,30}$/.test(text)) return text;
	throw new OperatorError('It must be one of this account.');
}

function parseQuery(text: string): string {
	const query = new URLSearchParams(text).toString();
	if (query.length <= maxQueryLength) return query;
	throw new OperatorError('It is too long to be kept.');
}

const takes = {
	name: { flag: '<name>', text: 'what people call it', parse: displayName, label: 'Name' },
	page: { flag: '--page <page>', text: 'empty for the overview', parse: parsePage, isOptional: true },
	query: { flag: '--query <query>', text: 'of its address', parse: parseQuery, isOptional: true },
} as const;
const named = { view: { flag: '<id>', text: 'the view' } } as const;

const ofViews = {
	noun: 'view',
	demand: 'session',
	noCommand: 'views are of the console: each page of figures saves itself',
} as const;

/** Whose a view is: of who asks, or of everybody who sees the account. */
type OwnerOf = (control: ControlStore, place: ActPlace) => Promise<string | null>;
const asker: OwnerOf = async (control, { who = '' }) => (await control.people.find(who)).id;
const everybody: OwnerOf = async () => null;

function saving(ownerOf: OwnerOf) {
	return async (control: ControlStore, place: ActPlace, given: GivenFields<typeof takes>) => {
		const { name, page = '', query = '' } = given;
		await control.views.save(place.account.id, await ownerOf(control, place), { name, page, query });
		return { page, query };
	};
}

function removing(ownerOf: OwnerOf) {
	return async (control: ControlStore, place: ActPlace, { view }: GivenFields<typeof named>) => {
		await control.views.remove(place.account.id, await ownerOf(control, place), view);
		return { removed: view };
	};
}

export const saveView = act({
	...ofViews,
	verb: 'save',
	summary: 'keep the address of a page under a name',
	right: 'aggregates',
	takes,
	run: saving(asker),
});

export const shareView = act({
	...ofViews,
	verb: 'share',
	summary: 'the same for everybody who sees the account',
	right: 'visitors',
	takes,
	run: saving(everybody),
});

export const removeView = act({
	...ofViews,
	verb: 'remove',
	summary: 'remove a view of one’s own',
	right: 'aggregates',
	takes: named,
	run: removing(asker),
});

export const removeSharedView = act({
	...ofViews,
	verb: 'remove-shared',
	done: 'view of everybody removed',
	summary: 'remove a view of everybody',
	right: 'visitors',
	takes: named,
	run: removing(everybody),
});
