/**
 * Mechanisms of scoring that can be left out, to see what each gains. Production code knows nothing of it: modules are imported a
 * second time, with a part of their text replaced.
 */
import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { fileURLToPath } from 'node:url';

export interface Mechanism {
	readonly name: string;
	/** The code that would go with it: whole files, or declarations at the top level of a file (`file#name`), or numbers of lines. */
	readonly code: readonly (string | number)[];
	/** Histories on which it makes a difference have this in their name. */
	readonly on: RegExp;
	readonly patches: readonly Patch[];
}

interface Patch {
	readonly file: string;
	readonly from: string;
	readonly to: string;
}

const core = 'src/core/scoring';
const training = 'src/capabilities/training';
const rowsFile = `${training}/rows/account-rows.ts`;

function patch(file: string, from: string, to: string): Patch {
	return { file, from, to };
}

/** Of a feature, a line of the table and about two of what reads it. */
const linesOfFeature = 3;

function withoutFeatures(name: string, on: RegExp, features: readonly string[]): Mechanism {
	const from = 'rows.some((row) => !Object.is(row.numeric[column], first?.numeric[column]))';
	return {
		name,
		on,
		code: [linesOfFeature * features.length],
		patches: [
			patch(rowsFile, from, `!${JSON.stringify(features)}.includes(numeric[column].name) && ${from}`),
		],
	};
}

export const mechanisms: readonly Mechanism[] = [
	{
		name: 'rows at cuts',
		on: /CDNOW/,
		code: [`${training}/rows/snapshots.ts#cutsOf`, `${rowsFile}#cutsForActivity`, 8],
		patches: [patch(rowsFile, 'cutShare:', 'cutShare: 0 *')],
	},
	{
		name: 'rows after hits',
		on: /CDNOW/,
		code: [
			`${training}/rows/snapshots.ts#hitCount`,
			`${training}/rows/snapshots.ts#roundStochastically`,
			`${training}/rows/snapshots.ts#draw`,
			3,
		],
		patches: [patch(rowsFile, 'hitShare:', 'hitShare: 0 *')],
	},
	{
		name: 'boosting',
		on: /CDNOW|Shoppers/,
		code: [
			`${training}/fit/boosting.ts`,
			`${training}/fit/tree.ts`,
			`${training}/fit/cuts.ts`,
			`${core}/model/scorer.ts#boostingEvaluator`,
			`${training}/judge/choose.ts#bestBoosting`,
			30,
		],
		patches: [patch(`${training}/judge/choose.ts`, 'const isBetter =', 'const isBetter = false &&')],
	},
	{
		name: 'trees at half the rate, twice as many',
		on: /Shoppers/,
		code: [2],
		patches: [
			patch(`${training}/judge/train.ts`, 'learningRate / 2', 'learningRate'),
			patch(`${training}/judge/train.ts`, '2 * choice.trees', 'choice.trees'),
		],
	},
	{
		name: 'four of five columns for each tree',
		on: /Shoppers/,
		code: [6],
		patches: [patch(`${training}/fit/boosting.ts`, 'shareOfColumns = 0.8', 'shareOfColumns = 1')],
	},
	{
		name: 'texts',
		on: /Shoppers/,
		code: [
			`${training}/fit/encoding.ts#countVisitors`,
			`${training}/fit/encoding.ts#fitCategorical`,
			`${training}/fit/encoding.ts#shrunkenRate`,
			`${training}/fit/encoding.ts#encodeTexts`,
			`${core}/rows/known-features.ts#knownTexts`,
			15,
		],
		patches: [
			patch(
				`${training}/judge/train.ts`,
				'inTimeOrder(unordered, seed)',
				'inTimeOrder({ ...unordered, features: { ...unordered.features, categorical: [] }, categorical: [], texts: [] }, seed)',
			),
		],
	},
	{
		name: 'rates of texts are mixed with the base rate',
		on: /Shoppers/,
		code: [4],
		patches: [
			patch(`${training}/fit/encoding.ts`, 'rateShrinkageVisitors = 20', 'rateShrinkageVisitors = 0.01'),
		],
	},
	{
		name: 'a penalty for each row of a visitor',
		on: /CDNOW|made-up/,
		code: [`${training}/judge/fold-models.ts#strengthFor`],
		patches: [
			patch(
				`${training}/judge/fold-models.ts`,
				'(strength * rows) / new Set(groups).size',
				'0 * rows * groups.length + strength',
			),
		],
	},
	{
		name: 'level',
		on: /CDNOW/,
		code: [`${training}/judge/level.ts`, `${training}/rows/recent-rows.ts`],
		patches: [
			patch(
				`${training}/judge/level.ts`,
				'const shiftOf =',
				'if (recent) return recent.map(() => 0);\n\tconst shiftOf =',
			),
		],
	},
	{
		name: 'level by recency',
		on: /CDNOW/,
		code: [10],
		patches: [patch(`${training}/judge/level.ts`, 'return isProven ?', 'return isProven && !recent ?')],
	},
	withoutFeatures('sales that fade over 90 and 365 days', /CDNOW|made-up/, [
		'recentSubscriptions90d',
		'recentSubscriptions365d',
	]),
	withoutFeatures('time since a sale, against its usual time', /CDNOW|made-up/, [
		'daysPerSubscription',
		'subscriptionOverdue',
	]),
	withoutFeatures('amounts', /CDNOW|made-up/, ['revenuePence', 'pencePerSubscription']),
	withoutFeatures('time since a visit, against its usual time', /CDNOW|made-up/, [
		'visitOverdue',
		'visitTrend',
	]),
	withoutFeatures('hits and visits that fade', /CDNOW|made-up/, [
		'recentHits1d',
		'recentHits7d',
		'recentHits30d',
		'recentVisits7d',
		'recentVisits30d',
	]),
	withoutFeatures('due dates', /renewals/, ['cadenceDays', 'daysUntilDue', 'periodPassed']),
	withoutFeatures('payments in a row', /renewals/, ['paymentsInRow']),
];

const root = new URL('../../', import.meta.url);

/** A file without a mechanism. @throws Error where its text is not what the patch expects */
export function patched(source: string, { file, from, to }: Patch): string {
	if (source.split(from).length !== 2) throw new Error(`${file} does not have this once: ${from}`);
	return source.replace(from, () => to);
}

export function sourceOf(file: string): string {
	return readFileSync(new URL(file, root), 'utf8');
}

/** How many lines of code a mechanism has. */
export function linesOf({ code }: Mechanism): number {
	return code.reduce<number>((sum, part) => sum + (typeof part === 'number' ? part : linesOfPart(part)), 0);
}

function linesOfPart(part: string): number {
	const [file = '', name] = part.split('#');
	const lines = sourceOf(file).trimEnd().split('\n');
	if (name === undefined) return lines.length;
	const from = lines.findIndex((line) => new RegExp(`^(export )?(function|const) ${name}\\b`).test(line));
	if (from < 0) throw new Error(`${file} does not declare ${name}`);
	return lines.slice(from).findIndex((line) => /^[})\]]+;?$/.test(line)) + 1;
}

const parameter = 'without';

/** Imports a module of this folder, and all that it imports of this project, as they are without a mechanism. */
export async function importWithout<Module>(path: string, mechanism: Mechanism | undefined): Promise<Module> {
	return await import(mechanism ? `${path}?${parameter}=${encodeURIComponent(mechanism.name)}` : path);
}

registerHooks({
	resolve(specifier, context, nextResolve) {
		const resolved = nextResolve(specifier, context);
		const left = context.parentURL && new URL(context.parentURL).searchParams.get(parameter);
		const isOwn = resolved.url.startsWith(root.href) && !resolved.url.includes('/node_modules/');
		if (!left || !isOwn || resolved.url.includes('?') || resolved.url.endsWith('/mechanisms.ts'))
			return resolved;
		return { ...resolved, url: `${resolved.url}?${parameter}=${encodeURIComponent(left)}` };
	},
	load(url, context, nextLoad) {
		const loaded = nextLoad(url, context);
		const left = new URL(url).searchParams.get(parameter);
		const path = url.startsWith(root.href) ? fileURLToPath(url).slice(fileURLToPath(root).length) : '';
		const patches = mechanisms.find(({ name }) => name === left)?.patches ?? [];
		const own = patches.filter(({ file }) => file === path);
		if (own.length === 0) return loaded;
		return { ...loaded, source: own.reduce(patched, String(loaded.source)) };
	},
});
