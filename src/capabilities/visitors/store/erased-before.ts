import { type Askable, type Reading, raw, type Select, select } from '../../../core/store/steps.ts';

const pageRows = 2000;

type Page = (after: string) => Askable<Select>;

const column = (name: string, table: string): Page => {
	const [distinct, rest] = [
		`DISTINCT ${name} AS found FROM @${table} WHERE ${name} >`,
		`ORDER BY ${name} LIMIT ${pageRows}`,
	];
	return (after) => select`${raw(distinct)} ${after} ${raw(rest)} /* visitors and customers */`;
};

/** Wherever a visitor is named, also where only an erased one leads to it. */
const placesOfVisitors = [
	column('vid', 'visitor'),
	column('vid', 'claim'),
	column('vid', 'subscription_event'),
	column('successor', 'erased'),
];

const keysOfCustomers: Page = (after) =>
	select`DISTINCT key AS found FROM @claim WHERE key > ${after} AND key < 'd' ORDER BY key LIMIT ${raw(pageRows)} /* visitors and customers */`;

/** Every `vid` of an account, in pages; some more than once. @param read reads one page */
export async function* everyVisitor(read: Reader): AsyncIterable<string> {
	for (const place of placesOfVisitors) yield* everyIn(read, place, '');
}

/** Every customer id that hits have shown or events have, in the same way. */
export async function* everyCustomer(read: Reader): AsyncIterable<string> {
	for await (const key of everyIn(read, keysOfCustomers, 'c:')) yield key.slice(2);
	yield* everyIn(read, column('cid', 'subscription_event'), '');
}

type Reader = <T>(reading: Reading<T>) => Promise<T>;

async function* everyIn(read: Reader, place: Page, first: string): AsyncIterable<string> {
	for (let after: string | undefined = first; after !== undefined; ) {
		const page: string[] = await read(found(place(after)));
		yield* page;
		after = page.length === pageRows ? page.at(-1) : undefined;
	}
}

function* found(page: Askable<Select>): Reading<string[]> {
	return (yield* page).map((row) => String(row.found));
}
