/** What training does besides one regression, so that `npm run proof:scoring -- --without NAME` can show what each gains. */
export const mechanisms = [
	'due dates',
	'payments in a row',
	'texts',
	'boosting',
	'level',
	'level by recency',
	'rows at cuts',
	'rows after hits',
] as const;

export type Mechanism = (typeof mechanisms)[number];

/** Empty but in that proof. */
export const without: Set<Mechanism> = new Set();
